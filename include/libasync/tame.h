/* SPDX-License-Identifier: MIT
 * The tame.h of programs of the libasync family: <tame.h> of Heddle with all of libasync's core,
 * which these programs take from it.
 */
#pragma once

#include "async.h"
#include "tame_trigger.h"
