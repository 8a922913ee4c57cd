// SPDX-License-Identifier: MIT
// One poll operation a wait, on a duplicate of the descriptor, which only this object closes.
#include "heddle/io/watched_descriptor.hh"

#include <fcntl.h>

#include <cerrno>

#include "heddle/io/call.hh"
#include "heddle/sched/detail/here.hh"

namespace heddle {

watched_descriptor::watched_descriptor(int theirs) : fd_(::fcntl(theirs, F_DUPFD_CLOEXEC, 0)) {
  if (fd_ < 0)
    throw failure({errno, std::generic_category()}, "cannot watch a descriptor of another library");
  driver_here().adopt(fd_);
}

watched_descriptor::~watched_descriptor() {
  if (fd_ >= 0) driver_here().close(fd_, worker::here());
}

task<unsigned> watched_descriptor::ready(unsigned events) const {
  one_operation waiting(op_code::poll, fd_, "ready");
  waiting.flags = events;
  const std::int64_t found = co_await waiting;
  if (found < 0) throw failure(kernel_error(static_cast<int>(found)));
  co_return static_cast<unsigned>(found);
}

}  // namespace heddle
