// SPDX-License-Identifier: MIT
// wake.draft as tasks of C++.
#include <cstdio>
#include <cstdlib>

#include "heddle/heddle.hh"
#include "options.hh"

using namespace heddle;

namespace {

task<> pauses(std::int64_t turns) {
  for (; turns != 0; --turns) co_await yield();
}

task<> both(std::int64_t turns) {
  scope s;
  s.spawn(pauses(turns));
  s.spawn(pauses(turns));
  co_await s.join();
}

}  // namespace

int main(int argc, char** argv) {
  runtime rt(from_environment());
  rt.run(both(argc > 1 ? std::atoll(argv[1]) : 1000000));
}
