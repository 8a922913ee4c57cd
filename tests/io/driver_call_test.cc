// SPDX-License-Identifier: MIT
// What the kernel's drivers promise about calls that block, and about closing a descriptor while a
// thread of the pool works on it: the number must not meet another file.
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "folder.hh"
#include "support/driver_harness.hh"
#include "support/drivers.hh"

using namespace heddle;
using heddle::test::driver_harness;
using heddle::test::folder;
using heddle::test::request;
using namespace std::chrono_literals;

namespace {

/// A call that ends when the test says so.
struct turnstile {
  std::atomic<bool> entered{false};
  std::atomic<bool> open{false};
  static std::int64_t pass(void* at) noexcept {
    auto& self = *static_cast<turnstile*>(at);
    self.entered = true;
    while (!self.open) std::this_thread::sleep_for(100us);
    return 7;
  }
};

struct blocking_request : request {
  explicit blocking_request(turnstile& at) : request(op_code::call, -1) {
    more = &at;
    function = &turnstile::pass;
  }
};

driver_options one_pool_thread() {
  driver_options limits;
  limits.pool_threads_max = 1;
  limits.pool_queue_max = 2;
  return limits;
}

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

}  // namespace

DRIVER_TEST(driver_call, "a call runs on a thread of its own, and its return is the result") {
  if (!make.real()) GTEST_SKIP() << "it runs calls in place";
  driver_harness h(make());
  turnstile at;
  blocking_request r(at);
  h.submit(r);
  h.settle();
  EXPECT_FALSE(r.done);
  at.open = true;
  EXPECT_EQ(h.finish(r), 7);
}

DRIVER_TEST(driver_call, "a queued call can be taken back, a running one is waited for") {
  if (!make.real()) GTEST_SKIP() << "it runs calls in place";
  driver_harness h(make(one_pool_thread()));
  turnstile first, second;
  blocking_request running(first), queued(second);
  h.submit(running);
  h.turn_until([&] { return first.entered.load(); });
  h.submit(queued);
  EXPECT_EQ(h.stop(queued), -ECANCELED);
  EXPECT_FALSE(second.entered);
  h.io->cancel(running, h.w);
  h.settle();
  EXPECT_FALSE(running.done);
  first.open = true;
  EXPECT_EQ(h.finish(running), 7);
}

DRIVER_TEST(driver_call, "more calls than may wait are refused at once") {
  if (!make.real()) GTEST_SKIP() << "it runs calls in place";
  driver_harness h(make(one_pool_thread()));
  turnstile at;
  blocking_request running(at), first(at), second(at), third(at);
  h.submit(running);
  h.turn_until([&] { return at.entered.load(); });
  for (request* r : {&first, &second, &third}) h.submit(*r);
  EXPECT_TRUE(third.from_submit);
  EXPECT_EQ(third.result(), -EAGAIN);
  at.open = true;
  for (request* r : {&running, &first, &second}) EXPECT_EQ(h.finish(*r), 7);
}

DRIVER_TEST(driver_call, "closing ends the calls on a descriptor that still wait for a thread") {
  if (!make.real() || make.name() == "io_uring") GTEST_SKIP() << "files need no thread there";
  driver_harness h(make(one_pool_thread()));
  const folder at(*h.io);
  const int fd = ::open((at / "file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  turnstile busy;
  blocking_request running(busy);
  h.submit(running);
  h.turn_until([&] { return busy.entered.load(); });
  request write(op_code::write, fd, const_cast<char*>("late"), 4);
  write.offset = 0;
  h.submit(write);
  EXPECT_FALSE(write.done);
  h.close(fd);
  EXPECT_EQ(h.finish(write), -ECANCELED);
  EXPECT_FALSE(is_open(fd));
  busy.open = true;
  EXPECT_EQ(h.finish(running), 7);
  struct stat s;
  ASSERT_EQ(::stat((at / "file").c_str(), &s), 0);
  EXPECT_EQ(s.st_size, 0);
}

DRIVER_TEST(driver_call,
            "while a thread works on it, a closed number is not given to another file") {
  if (!make.real() || make.name() == "io_uring") GTEST_SKIP() << "files need no thread there";
  driver_harness h(make());
  const folder at(*h.io);
  ASSERT_EQ(::mkfifo((at / "fifo").c_str(), 0600), 0);
  // Opening a FIFO for reading blocks until somebody opens it for writing.
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC;
  for (auto patience = 5ms;; patience *= 2) {
    ASSERT_LT(patience, 5s);
    const int number = ::open(at.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    request opening(op_code::open, number);
    opening.data = const_cast<char*>("fifo");
    opening.more = &how;
    h.submit(opening);
    std::this_thread::sleep_for(patience);
    h.close(number);
    if (opening.done) continue;  // taken back: no thread had come to it yet
    EXPECT_TRUE(is_open(number));
    const int writer = ::open((at / "fifo").c_str(), O_WRONLY | O_CLOEXEC);
    EXPECT_GE(h.keep(static_cast<int>(h.finish(opening))), 0);
    EXPECT_FALSE(is_open(number));
    ::close(writer);
    return;
  }
}

DRIVER_TEST(driver_call, "what is asked beneath a closed folder never reaches another one") {
  if (!make.real()) GTEST_SKIP() << "its numbers are its own";
  driver_harness h(make());
  const folder at(*h.io);
  for (const char* name : {"closed", "other"}) std::filesystem::create_directory(at / name);
  const auto plant = [&](const char* path) { std::ofstream(at / path) << "x"; };
  const auto stands = [&](const char* path) { return std::filesystem::exists(at / path); };
  const auto open_folder = [&](const char* name) {
    return ::open((at / name).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  };
  for (int round = 0; round != 200; ++round) {
    plant("closed/x");
    plant("other/x");
    const int number = open_folder("closed");
    request removing(op_code::remove, number);
    removing.data = const_cast<char*>("x");
    request making(op_code::make_directory, number);
    making.data = const_cast<char*>("y");
    making.len = 0700;
    h.submit(removing);
    h.submit(making);
    if (round % 2 != 0) h.turn();  // some are with the kernel by then, some wait to be sent
    h.close(number);
    const int other = open_folder("other");
    const std::int64_t removed = h.finish(removing);
    const std::int64_t made = h.finish(making);
    EXPECT_EQ(removed, stands("closed/x") ? -ECANCELED : 0);
    EXPECT_EQ(made, stands("closed/y") ? 0 : -ECANCELED);
    EXPECT_TRUE(stands("other/x"));
    EXPECT_FALSE(stands("other/y"));
    if (other != number) {
      EXPECT_FALSE(is_open(number));
    }
    ::close(other);
    std::filesystem::remove(at / "closed/y");
  }
}

DRIVER_TEST(driver_call, "a read past the page cache never makes the worker wait for the disk") {
  if (!make.real()) GTEST_SKIP() << "its disk is memory";
  driver_harness h(make());
  const folder dir(*h.io);
  constexpr std::size_t size = 4096;
  const std::unique_ptr<void, void (*)(void*)> block(std::aligned_alloc(size, size), &std::free);
  std::memset(block.get(), 'x', size);
  const std::string path = dir / "uncached";
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0600);
  if (fd < 0) GTEST_SKIP() << "no uncached files in " << dir.path();
  ASSERT_EQ(::pwrite(fd, block.get(), size, 0), static_cast<ssize_t>(size));
  std::memset(block.get(), 0, size);
  request r(op_code::read, fd, block.get(), size);
  r.offset = 0;
  h.submit(r);
  EXPECT_FALSE(r.from_submit);
  EXPECT_EQ(h.finish(r), static_cast<std::int64_t>(size));
  EXPECT_EQ(static_cast<const char*>(block.get())[size - 1], 'x');
  h.io->close(fd, h.w);
}
