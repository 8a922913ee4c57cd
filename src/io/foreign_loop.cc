// SPDX-License-Identifier: MIT
// Turns that do not sleep, until nothing is ready.
#include "heddle/io/foreign_loop.hh"

#include <string>

namespace heddle {

foreign_loop::foreign_loop(runtime& rt)
    : runtime_(rt), driver_(rt.io()), descriptor_(driver_.descriptor()) {
  if (rt.workers() > 1)
    throw failure(
        std::make_error_code(std::errc::operation_not_supported),
        "a runtime inside another loop has one worker; set runtime_options::workers to 1");
  if (descriptor_ < 0)
    throw failure(std::make_error_code(std::errc::operation_not_supported),
                  std::string("driver ") + driver_.name() +
                      " has no descriptor that another loop could watch; choose io_uring or epoll");
}

nanoseconds foreign_loop::step() {
  const worker& first = runtime_.main_worker();
  driver_.drain_descriptor();
  for (int turn = 0; turn < turns_max; ++turn)
    if (!runtime_.once() && first.idle() && !driver_.unsent()) break;
  if (!first.idle() || driver_.unsent()) return nanoseconds::zero();
  const time_point due = runtime_.next_wake();
  if (due == never) return nanoseconds::max();
  const nanoseconds left = span_between(runtime_.io().now(), due);
  return left > nanoseconds::zero() ? left : nanoseconds::zero();
}

}  // namespace heddle
