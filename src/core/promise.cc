// SPDX-License-Identifier: MIT
// The transfer to another frame that does not grow the stack: see transfer_to().
#include "heddle/core/promise.hh"

namespace heddle {

std::coroutine_handle<> detail::transfer_by_loop(worker& w, std::coroutine_handle<> h) noexcept {
  w.transfers = 0;
  w.ready.push_front(link_of(h));
  promise_of(link_of(h)).context_low = w.context_now;
  return std::noop_coroutine();
}

}  // namespace heddle
