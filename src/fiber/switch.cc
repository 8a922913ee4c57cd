// SPDX-License-Identifier: MIT
// The parts of a switch that are not inlined: Boost.Context if used, and calls to sanitizers.
#include "heddle/fiber/detail/switch.hh"

#if !HEDDLE_FIBER_INLINE
#include <boost/context/detail/fcontext.hpp>
#endif
#if HEDDLE_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace heddle::detail {

#if !HEDDLE_FIBER_INLINE
namespace {

namespace context = boost::context::detail;

/// Runs the entry of a new stack. The first switch passes the entry as its argument, the second one
/// passes its `self`.
void begin(context::transfer_t first) noexcept {
  const auto entry = reinterpret_cast<stack_entry>(first.data);
  const context::transfer_t second = context::jump_fcontext(first.fctx, nullptr);
  entry(second.data, second.fctx);
}

}  // namespace

void* prepare_stack(std::byte* top, std::size_t bytes, stack_entry entry) noexcept {
  const context::fcontext_t made = context::make_fcontext(top, bytes, &begin);
  return context::jump_fcontext(made, reinterpret_cast<void*>(entry)).fctx;
}

void* switch_stack(void* to, void* self) noexcept { return context::jump_fcontext(to, self).fctx; }
#endif

#if HEDDLE_ASAN
void switch_announcer::leaving_host(const void* low, std::size_t bytes) noexcept {
  __sanitizer_start_switch_fiber(&host, low, bytes);
}
void switch_announcer::back_at_host() noexcept {
  __sanitizer_finish_switch_fiber(host, nullptr, nullptr);
}
void switch_announcer::leaving_fiber(bool for_good) noexcept {
  __sanitizer_start_switch_fiber(for_good ? nullptr : &own, host_low, host_bytes);
}
void switch_announcer::at_fiber() noexcept {
  __sanitizer_finish_switch_fiber(own, &host_low, &host_bytes);
}
#elif !HEDDLE_TSAN
void switch_announcer::leaving_host(const void*, std::size_t) noexcept {}
void switch_announcer::back_at_host() noexcept {}
void switch_announcer::leaving_fiber(bool) noexcept {}
void switch_announcer::at_fiber() noexcept {}
#endif

}  // namespace heddle::detail
