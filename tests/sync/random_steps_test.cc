// SPDX-License-Identifier: MIT
// Random steps of tasks over everything in room sync: see random_steps.hh. tests/fiber runs the
// same steps in fibers.
#include "sync/random_steps.hh"

using namespace heddle;

HEDDLE_TEST(random_steps, "W2 no value, lock or wake-up is lost by random steps of one color") {
  test::random_steps::run_many(1000, &test::random_steps::run_party);
}
