// SPDX-License-Identifier: MIT
// The base of all our coroutine promises. It takes frames from the worker's slabs, stores the line
// of every co_await in the frame, detaches slots when the function ends, and knows where to deliver
// the result.
#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <new>
#include <source_location>

#include "heddle/core/awaitable.hh"
#include "heddle/core/context.hh"
#include "heddle/core/detail/join.hh"
#include "heddle/core/detail/slot_guard.hh"

namespace heddle {

/// A coroutine of ours: its promise begins with promise_base.
template <class P>
concept frame_promise = std::derived_from<P, promise_base>;

namespace detail {

/// Lets the worker's loop go on with `h`, before all frames that are ready. The library has this
/// function with either compiler, because programs of the other one may call it.
[[nodiscard, gnu::cold, gnu::noinline]] std::coroutine_handle<> transfer_by_loop(
    worker& w, std::coroutine_handle<> h) noexcept;

#if defined(__clang__)
/// Goes on with `h` without growing the stack: Clang makes it a jump at every level.
[[nodiscard]] inline std::coroutine_handle<> transfer_to(std::coroutine_handle<> h) noexcept {
  return h;
}
#else
/// How many frames may be resumed inside one another before the worker's loop resumes the next.
inline constexpr std::uint16_t transfers_max = 64;

/// Goes on with `h` within a bounded stack. GCC makes it a jump with -foptimize-sibling-calls,
/// which is on from -O2, and a call otherwise; no macro tells which. So transfers are counted, and
/// the worker's loop makes one of every transfers_max.
[[nodiscard]] inline std::coroutine_handle<> transfer_to(std::coroutine_handle<> h) noexcept {
  worker& w = worker::running();
  if (++w.transfers >= transfers_max) [[unlikely]]
    return transfer_by_loop(w, h);
  return h;
}
#endif

#if defined(__clang__)
template <class A>
[[nodiscard]] A&& keep_in_place(A&& awaitable) noexcept {
  return static_cast<A&&>(awaitable);
}
#else
/// GCC 12 copies an awaiter that await_transform returns by reference; this refers to it instead.
template <class Awaiter>
class awaiter_reference {
 public:
  explicit awaiter_reference(Awaiter& a) noexcept : awaiter_(&a) {}
  [[nodiscard]] auto await_ready() { return awaiter_->await_ready(); }
  template <class P>
  auto await_suspend(std::coroutine_handle<P> h) {
    return awaiter_->await_suspend(h);
  }
  decltype(auto) await_resume() { return awaiter_->await_resume(); }

 private:
  Awaiter* awaiter_;
};

template <class A>
[[nodiscard]] auto keep_in_place(A&& awaitable) {
  if constexpr (has_member_co_await<A&&>) {
    return static_cast<A&&>(awaitable).operator co_await();
  } else {
    return awaiter_reference<std::remove_reference_t<A>>(awaitable);
  }
}
#endif

/// An awaitable with the line that waits for it: a branch of select(), which the library awaits in
/// a function of its own.
template <class A>
concept has_line = requires(const std::remove_reference_t<A>& a) {
  { a.awaited_at() } -> std::same_as<site>;
};

/// Keeps the line of this promise's function, which the exception in flight leaves, for a report.
[[gnu::cold, gnu::noinline]] void note_exception(promise_base& of) noexcept;

/// The size to allocate for a cell with this alignment (slab.hh). Up to 16 it is the same size.
[[nodiscard]] constexpr std::size_t aligned_size(std::size_t bytes, std::align_val_t to) noexcept {
  const auto alignment = static_cast<std::size_t>(to);
  if (alignment <= 16) return bytes;
  if (alignment > slab_aligned_max && bytes <= slab_large_max) bytes = slab_large_max + 1;
  return (bytes + alignment - 1) / alignment * alignment;
}

/// The promise's half that does not depend on the result.
struct task_promise_base : promise_base {
  // Inline, because Clang calls it otherwise: the aligned form is a second caller.
  [[nodiscard, gnu::always_inline]] static void* operator new(std::size_t bytes) {
    return worker::here().memory.allocate(bytes);
  }
  static void operator delete(void* frame, std::size_t bytes) noexcept {
    worker& w = worker::running();
    if (w.foreign_slots != 0) [[unlikely]]
      detach_slots_of(w, frame);
    w.memory.release(frame, bytes);
  }
  // As above, with the alignment of the function's variables. Clang calls these two only with
  // -fcoro-aligned-allocation, because its frames' sizes need not be multiples of the alignment.
  [[nodiscard]] static void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return operator new(aligned_size(bytes, alignment));
  }
  static void operator delete(void* frame, std::size_t bytes, std::align_val_t alignment) noexcept {
    operator delete(frame, aligned_size(bytes, alignment));
  }

  /// Stores the line that waits: one 4-byte store.
  template <class A>
  decltype(auto) await_transform(
      A&& awaitable, std::source_location where = std::source_location::current()) noexcept {
    check_awaitable<A>();
    at = site_of(where);
    if constexpr (has_line<A>) {
      if (const site own = awaitable.awaited_at(); own != 0) at = own;
    }
    if constexpr (heddle::detail::awaitable<A>)
      return keep_in_place(static_cast<A&&>(awaitable));
    else
      return unusable_awaiter();
  }

  /// Cuts the function's slots off at its end: nothing may write into its variables any more. This
  /// and its callers are inlined into the function, so that the function's stack variables are in
  /// the stack frame that calls end_slots_of().
  [[gnu::always_inline]] void end_of_function() noexcept {
    worker& w = worker::running();
    if (w.foreign_slots != 0) [[unlikely]]
      end_slots_of(w, own_frame(), 0);
  }
  [[nodiscard]] void* own_frame() noexcept { return reinterpret_cast<char*>(this) - next_offset; }
  /// As end_of_function(), for unhandled_exception(), which is not inlined.
  [[gnu::always_inline]] void end_of_failed_function() noexcept {
    worker& w = worker::running();
    if (w.foreign_slots != 0) end_slots_of(w, own_frame(), 1);
  }
};

}  // namespace detail
}  // namespace heddle
