// SPDX-License-Identifier: MIT
// The header of programs that were written for tamer. All names are in namespace tamer, on Heddle's
// runtime; docs/guide/from-tame.md says how to build such a program, and how to port it for good.
#pragma once

#include "tamer/adapter.hh"
#include "tamer/color.hh"
#include "tamer/config.h"
#include "tamer/driver.hh"
#include "tamer/event.hh"
#include "tamer/function.hh"
