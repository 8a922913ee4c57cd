// SPDX-License-Identifier: MIT
// Maps stacks and lends them to fibers.
#include "fiber/stacks.hh"

#include <cxxabi.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <string>
#include <utility>

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define VALGRIND_STACK_REGISTER(begin, end) 0u
#define VALGRIND_STACK_DEREGISTER(id) (void)(id)
#endif

namespace heddle {

void limit_fibers(const fiber_limits& limits) { detail::fiber_stacks::here().limits = limits; }

fiber_statistics read_fibers() { return detail::fiber_stacks::here().read(); }

namespace detail {
namespace {

// An ordinary printf needs at least this much; smaller sizes are raised to it.
constexpr std::size_t stack_bytes_min = 16 * 1024;

/// The depth to which a fiber of few calls uses its stack. A stack that is kept for another runtime
/// is cleared to this depth by writing, and deeper by the kernel.
constexpr std::size_t shallow_bytes = 2 * page_bytes;

}  // namespace

void fiber_place::make(worker& w) { w.fibers = std::make_unique<fiber_stacks>(); }

fiber_stacks& fiber_stacks::here() {
  worker& w = worker::here();
  if (w.fibers == nullptr) [[unlikely]]
    w.fibers = std::make_unique<fiber_stacks>();
  return static_cast<fiber_stacks&>(*w.fibers);
}

fiber_stacks::fiber_stacks() noexcept {
  exceptions = reinterpret_cast<exception_state*>(abi::__cxa_get_globals());
}

fiber_stacks::~fiber_stacks() {
  for (size_class& c : classes_)
    while (fiber_stack* s = c.free) {
      c.free = s->next;
      let_go(*s);
    }
}

/// The index of the class of this size; classes_.size() if there is none.
std::uint32_t fiber_stacks::find_class(std::size_t bytes) const noexcept {
  std::uint32_t i = 0;
  while (i < classes_.size() && classes_[i].bytes != bytes) ++i;
  return i;
}

std::uint32_t fiber_stacks::class_of(std::size_t bytes) {
  const std::uint32_t found = find_class(bytes);
  if (found == classes_.size()) classes_.push_back({bytes});
  return found;
}

fiber_stack& fiber_stacks::take(std::size_t bytes) {
  if (bytes == 0) bytes = limits.stack_bytes;
  if (bytes > limits.stack_bytes_max)
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "a fiber's stack of " + std::to_string(bytes) +
                      " bytes is above fiber_limits::stack_bytes_max");
  if (const std::size_t running = read().running; running >= limits.fibers_max)
    throw failure(std::make_error_code(std::errc::not_enough_memory),
                  "there are " + std::to_string(running) +
                      " fibers already: limit how many run at once, or raise "
                      "fiber_limits::fibers_max");
  // Sizes are powers of two, so that there are few classes and few kept stacks of the wrong size.
  const std::uint32_t index = class_of(std::bit_ceil(std::max(bytes, stack_bytes_min)));
  fiber_stack* s = classes_[index].free;
  if (s != nullptr) {
    classes_[index].free = s->next;
    --count_.stacks_kept;
  } else {
    s = &map(index);
  }
  ++count_.running;
  s->lender = this;
  return *s;
}

void fiber_stacks::give_back(fiber_stack& s) noexcept {
  if (s.lender == this) {
    --count_.running;
  } else {
    s.lender->ended_afar_.fetch_add(1, std::memory_order_relaxed);  // relaxed: only a count
  }
  s.class_index = find_class(s.bytes);  // the stack's pool may be another worker's
  if (s.class_index == classes_.size() || count_.stacks_kept >= limits.stacks_kept) {
    let_go(s);
    return;
  }
  size_class& c = classes_[s.class_index];
  s.next = std::exchange(c.free, &s);
  ++count_.stacks_kept;
}

fiber_stack& fiber_stacks::map(std::uint32_t class_index) {
  if (limits.report_overflow && watch_ == nullptr) watch_ = std::make_unique<overflow_watch>();
  const std::size_t bytes = classes_[class_index].bytes;
  const std::size_t guard = std::max(limits.guard_bytes / page_bytes * page_bytes, page_bytes);
  auto s = std::make_unique<fiber_stack>(kept_range(bytes, guard));
  if (s->memory.data() == nullptr)
    throw failure({errno, std::generic_category()},
                  "cannot map a fiber's stack; more than about 32000 need a higher "
                  "vm.max_map_count");
  s->low = s->memory.data();
  s->bytes = bytes;
  s->class_index = class_index;
  // Stacks begin at different offsets in a page, so that the stacks of many fibers do not compete
  // for the same cache lines: 16 offsets, 192 bytes apart.
  s->top = s->low + bytes - (count_.stacks_made % 16) * 192;
  s->valgrind_id = VALGRIND_STACK_REGISTER(s->low, s->low + bytes);
  ++count_.stacks_made;
  return *s.release();
}

void fiber_stacks::let_go(fiber_stack& s) noexcept {
  VALGRIND_STACK_DEREGISTER(s.valgrind_id);
  const std::size_t deep = s.bytes - std::min(s.bytes, shallow_bytes);
  if (deep != 0) s.memory.give_back(s.low, deep);
  s.memory.clear(s.low + deep, s.bytes - deep);
  s.memory.keep_cleared();
  delete &s;
}

bool fiber_stacks::in_guard(const fiber_stack& s, const void* address) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const std::size_t guard = s.memory.guard();
  return at - (reinterpret_cast<std::uintptr_t>(s.low) - guard) < guard;
}

}  // namespace detail
}  // namespace heddle
