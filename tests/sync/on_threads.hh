// SPDX-License-Identifier: MIT
// The same program on several threads at once, each with a runtime of its own.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "heddle/heddle.hh"

namespace heddle::test {

/// Runs program(number) on so many threads; they begin together.
template <class Program>
void on_threads(int count, Program program) {
  std::atomic<int> ready = 0;
  std::vector<std::thread> all;
  for (int i = 0; i < count; ++i)
    all.emplace_back([&, i] {
      runtime rt({.driver = "epoll"});
      ++ready;
      while (ready < count) std::this_thread::yield();  // so that they overlap
      rt.run(program(i));
    });
  for (std::thread& t : all) t.join();
}

}  // namespace heddle::test
