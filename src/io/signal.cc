// SPDX-License-Identifier: MIT
// Takes signals that the driver has noted; if there are none, reads the driver's signal source.
#include "heddle/io/signal.hh"

#include <poll.h>

#include <cerrno>

#include "heddle/io/call.hh"
#include "heddle/sched/detail/here.hh"

namespace heddle {

namespace {
signal_list list_of(std::initializer_list<int> signals) {
  HEDDLE_ASSERT(signals.size() > 0, "a signal_set needs at least one signal");
  signal_list all(*signals.begin());
  for (const int s : signals) all = all + s;
  return all;
}
}  // namespace

signal_set::signal_set(std::initializer_list<int> signals) : signal_set(list_of(signals)) {}

signal_set::signal_set(signal_list signals) : mask_(signals.mask()) {
  fd_ = driver_here().signal_source(mask_);
  if (fd_ < 0) throw failure(kernel_error(fd_), "cannot listen to signals");
}

signal_set::~signal_set() {
  driver_here().release_signals(fd_, mask_);
  driver_here().close(fd_, worker::here());
}

task<int> signal_set::next() {
  struct mark {
    explicit mark(int change) : by(change) { runtime::here().add_background(by); }
    ~mark() { runtime::here().add_background(-by); }
    int by;
  } const in_background(background_ ? 1 : 0);
  for (;;) {
    if (const int number = driver_here().take_signal(mask_); number != 0) co_return number;
    std::uint64_t count = 0;
    one_operation reading(op_code::read, fd_, "signal");
    reading.data = &count;
    reading.len = sizeof count;
    const std::int64_t got = co_await reading;
    if (got >= 0) continue;
    if (got != -EAGAIN && got != -EINTR) throw failure(kernel_error(static_cast<int>(got)));
    // The source does not block, and io_uring then says so instead of waiting.
    one_operation coming(op_code::poll, fd_, "signal");
    coming.flags = POLLIN;
    const std::int64_t ready = co_await coming;
    if (ready < 0 && ready != -EINTR) throw failure(kernel_error(static_cast<int>(ready)));
  }
}

}  // namespace heddle
