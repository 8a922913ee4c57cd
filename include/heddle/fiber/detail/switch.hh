// SPDX-License-Identifier: MIT
// Switches between stacks. On x86-64 this is a dozen instructions, inlined on both sides, so that
// the processor predicts returns correctly (a switch by call and return costs two to three
// mispredictions, more than all the rest). On other machines, or if HEDDLE_FIBER_BOOST is defined,
// it uses Boost.Context. Registers are preserved as by a call, except the floating-point control
// words: rounding modes belong to the worker, not to a fiber.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/base/sanitizer.hh"

#if defined(__x86_64__) && !defined(HEDDLE_FIBER_BOOST)
#define HEDDLE_FIBER_INLINE 1
#else
#define HEDDLE_FIBER_INLINE 0
#endif

#if HEDDLE_TSAN
extern "C" {
void* __tsan_get_current_fiber(void);
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
}
#endif

namespace heddle::detail {

/// The first function on a new stack; `host` is the switch point of the caller. It never returns.
using stack_entry = void (*)(void* self, void* host);

#if HEDDLE_FIBER_INLINE

/// Prepares a stack whose first switch calls entry(self, host). Returns its switch point.
[[nodiscard]] inline void* prepare_stack(std::byte* top, std::size_t, stack_entry entry) noexcept {
  const auto aligned = reinterpret_cast<std::uintptr_t>(top) & ~std::uintptr_t{15};
  auto* at = reinterpret_cast<void**>(aligned) - 2;  // aligned as after a call
  at[0] = reinterpret_cast<void*>(entry);
  at[1] = nullptr;  // the return address of the outermost function
  return at;
}

/// Switches to the stack at switch point `to`. Returns when a stack switches back to this one, with
/// that stack's switch point.
[[gnu::always_inline]] inline void* switch_stack(void* to, void* self) noexcept {
  asm volatile(
      "leaq -128(%%rsp), %%rsp\n\t"  // skips the red zone, where a leaf function keeps data
      "pushq %%rbp\n\t"
      "leaq 1f(%%rip), %%rax\n\t"
      "pushq %%rax\n\t"
      "movq %%rsp, %%rax\n\t"
      "movq %%rsi, %%rsp\n\t"
      "movq %%rax, %%rsi\n\t"
      "popq %%rax\n\t"
      "jmpq *%%rax\n"
      "1:\n\t"
      "endbr64\n\t"
      "popq %%rbp\n\t"
      "leaq 128(%%rsp), %%rsp"
      : "+S"(to), "+D"(self)
      :
      : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0",
        "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
        "xmm12", "xmm13", "xmm14", "xmm15",
#if defined(__AVX512F__)
        "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",
        "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", "k4", "k5",
        "k6", "k7",
#endif
        "memory", "cc");
  return to;
}

#else

[[nodiscard]] void* prepare_stack(std::byte* top, std::size_t bytes, stack_entry entry) noexcept;
void* switch_stack(void* to, void* self) noexcept;

#endif

/// The announcements to sanitizers at each switch of one fiber.
struct switch_announcer {
  void* own = nullptr;   ///< the fiber's fake stack, or its state for TSan
  void* host = nullptr;  ///< the fake stack or TSan state of the thread or fiber that runs it
  const void* host_low = nullptr;
  std::size_t host_bytes = 0;

#if HEDDLE_TSAN
  // Inlined, because TSan counts calls and returns on each stack, and these must not be counted.
  [[gnu::always_inline]] inline void leaving_host(const void*, std::size_t) noexcept {
    if (own == nullptr) own = __tsan_create_fiber(0);
    host = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(own, 0);
  }
  [[gnu::always_inline]] inline void back_at_host() noexcept {}
  [[gnu::always_inline]] inline void leaving_fiber(bool) noexcept {
    __tsan_switch_to_fiber(host, 0);
  }
  [[gnu::always_inline]] inline void at_fiber() noexcept {}
  [[gnu::always_inline]] inline void gone() noexcept {
    if (own != nullptr) __tsan_destroy_fiber(own);
  }
#else
  void leaving_host(const void* low, std::size_t bytes) noexcept;
  void back_at_host() noexcept;
  void leaving_fiber(bool for_good) noexcept;
  void at_fiber() noexcept;
  void gone() noexcept {}
#endif
};

inline constexpr bool announce_switches = HEDDLE_ASAN || HEDDLE_TSAN;

}  // namespace heddle::detail
