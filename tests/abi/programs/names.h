/* SPDX-License-Identifier: MIT
 * The C part of names.draft: functions with the names that the generated code uses itself. */
#pragma once

#include <stdint.h>

#define HEDDLE_TEST_FUNCTION(name, factor) \
  static inline int64_t name(int64_t number) { return number * (factor); }
HEDDLE_TEST_FUNCTION(f, 1)
HEDDLE_TEST_FUNCTION(w, 2)
HEDDLE_TEST_FUNCTION(self, 3)
HEDDLE_TEST_FUNCTION(status, 4)
HEDDLE_TEST_FUNCTION(bad, 5)
HEDDLE_TEST_FUNCTION(turn, 6)
HEDDLE_TEST_FUNCTION(run, 7)
HEDDLE_TEST_FUNCTION(x, 8)
HEDDLE_TEST_FUNCTION(at, 9)
HEDDLE_TEST_FUNCTION(arm, 10)
HEDDLE_TEST_FUNCTION(tmp_1, 11)
HEDDLE_TEST_FUNCTION(result_, 13)
HEDDLE_TEST_FUNCTION(ended, 14)
