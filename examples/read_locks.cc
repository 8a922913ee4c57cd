// SPDX-License-Identifier: MIT
// Read locks (Tame, section 3): many readers or one writer, in the order of asking, by name. The
// log shows that readers share, and that a writer who waits holds back the readers behind it.
#include <cstdio>
#include <string>

#include "heddle/heddle.hh"
#include "heddle/sync/lock_table.hh"

using namespace heddle;
using namespace std::chrono_literals;

using table = lock_table<std::string>;

task<> reads(table& locks, int id) {
  const auto file = locks.open("inventory");
  const auto held = co_await file->lock_shared();
  std::printf("reader %d in, %u at once\n", id, file->readers());
  co_await sleep_for(5ms);
}

task<> writes(table& locks, int id) {
  const auto file = locks.open("inventory");
  const auto held = co_await file->lock();
  std::printf("writer %d in, alone\n", id);
  co_await sleep_for(5ms);
}

task<> hurried(table& locks) {
  const auto file = locks.open("inventory");
  const auto held = co_await as_expected(with_timeout(file->lock(), 2ms));
  std::printf("hurried writer: %s\n", held ? "in" : held.error().message().c_str());
}

task<> program() {
  table locks;
  scope s;
  s.spawn(reads(locks, 1));
  s.spawn(reads(locks, 2));
  s.spawn(hurried(locks));
  s.spawn(writes(locks, 3));
  s.spawn(reads(locks, 4));
  s.spawn(reads(locks, 5));
  co_await s.join();
  std::printf("%zu locks left\n", locks.size());
}

int main() {
  runtime rt;
  rt.run(program());
}
