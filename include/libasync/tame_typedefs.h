/* SPDX-License-Identifier: MIT
 * The names of events that libasync's programs use; async.h has them.
 */
#pragma once

#include "async.h"
