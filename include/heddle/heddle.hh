// SPDX-License-Identifier: MIT
// Everything but HTTP and the twait macros, for programs and examples.
#pragma once

#include "heddle/core/combination.hh"
#include "heddle/core/combine.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/dump.hh"
#include "heddle/core/event.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/rendezvous.hh"
#include "heddle/core/scope.hh"
#include "heddle/core/select.hh"
#include "heddle/core/sleep.hh"
#include "heddle/core/start.hh"
#include "heddle/core/tamed.hh"
#include "heddle/core/task.hh"
#include "heddle/core/yield.hh"
#include "heddle/sched/runtime.hh"
