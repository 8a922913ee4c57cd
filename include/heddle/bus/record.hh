// SPDX-License-Identifier: MIT
// What a bus keeps of one topic: the handlers in order, as an array of {function, object} that a
// raise walks, and beside it what only binding and unbinding need.
//
// While any raise of the bus runs, the arrays keep their place and length: a handler that is
// unbound becomes a tombstone (a function that does nothing), and a handler that is bound waits.
// When the outermost raise has ended, bus::settle() brings both up to date.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "heddle/base/list.hh"
#include "heddle/bus/topic.hh"

// Before a statement: what it calls is inlined, large or not, where that is possible. GCC has the
// like for functions only, and decides by itself.
#if defined(__clang__)
#define HEDDLE_INLINE_CALLS [[clang::always_inline]]
#else
#define HEDDLE_INLINE_CALLS
#endif

namespace heddle {

class bus;

namespace detail {

/// Whether the compiler inlines what it is told to.
#if defined(__clang__)
inline constexpr bool inlines_calls = true;
#else
inline constexpr bool inlines_calls = false;
#endif

struct topic_record;
class recorder;

/// A function of some topic's signature; cast back by who knows the topic.
using any_function = void (*)();

/// One bound handler, as a raise sees it.
struct slot {
  any_function call;
  void* self;
};

/// What is known of a handler before it is bound; one constant each.
struct handler_info {
  std::uint64_t hash;
  int occurrence;  ///< among handlers with this hash in one translation unit
  const char* name;
};

/// A handler's number in a plan; -1: in none.
struct planned_number {
  const void* plan = nullptr;
  int number = -1;
};

/// A sequence of handlers that a plan has merged. Its address is its identity.
struct variant {
  const std::int32_t* numbers;  ///< -1: any handler, called through its slot
  std::uint32_t len;
};
struct variant_table {
  const void* plan = nullptr;
  const variant* first = nullptr;
  std::uint32_t count = 0;
  std::uint32_t block_at = 0;     ///< this topic's words in the bus's merged block
  std::uint32_t block_words = 0;  ///< of the whole block
};

/// What only bind, unbind and the profile need of a bound handler.
struct slot_info {
  const handler_info* handler = nullptr;
  planned_number planned = {};
  std::int64_t order = 0;
  std::uint64_t serial = 0;          ///< names this binding; 0 for a tombstone
  const void* object = nullptr;      ///< for unbind_all
  void (*destroy)(void*) = nullptr;  ///< frees slot.self, when the bus owns it
};

/// A task that waits for the next raise of a topic.
struct topic_waiter : list_node {
  topic_waiter() noexcept = default;
  void (*closed)(topic_waiter&) noexcept = nullptr;  ///< the bus goes away
  bool late = false;                                 ///< came during a raise, which is not for it
};

/// Functions that depend on the topic's signature, for code that does not know it.
struct topic_calls {
  any_function tombstone;
  any_function waiters;  ///< the handler that serves co_await next<T>()
  const handler_info* waiters_info;
  any_function recorded;  ///< runs the handlers with the recorder looking on
  const char* compiler;   ///< whose names topics and handlers have
  planned_number waiters_planned;
  variant_table variants;  ///< the plan's, for this topic
};
using make_topic_calls = topic_calls (*)();

/// What a merged raise reads of its topic; the objects of the handlers follow it, in order.
struct merged_topic {
  const variant* active = nullptr;  ///< what the bindings agree with now, or null
  const slot* begin = nullptr;      ///< the record's; null until somebody has bound to the topic
  const slot* end = nullptr;

  static constexpr std::uint32_t words = 3;  ///< its size in pointers
  [[nodiscard]] void* self(std::size_t at) const noexcept {
    return reinterpret_cast<void* const*>(this + 1)[at];
  }
  void set_self(std::size_t at, void* object) noexcept {
    reinterpret_cast<void**>(this + 1)[at] = object;
  }
};
static_assert(sizeof(merged_topic) == merged_topic::words * sizeof(void*));

/// The merged topics of a bus, laid out by the plan: a raise finds its own by a constant offset.
struct merged_block {
  const void* plan = nullptr;  ///< whose layout it has
  std::byte* memory = nullptr;
  [[nodiscard]] merged_topic& at(std::size_t word) const noexcept {
    return *reinterpret_cast<merged_topic*>(memory + word * sizeof(void*));
  }
};

struct topic_record {
  /// What a raise runs: bound, or the one profiling function. Fixed while a raise runs.
  const slot* begin = nullptr;
  const slot* end = nullptr;

  topic_info* topic = nullptr;
  bus* owner = nullptr;
  topic_calls calls{};
  std::vector<slot> bound;
  std::vector<slot_info> infos;  ///< parallel to bound
  list<topic_waiter> waiters;
  /// The plan's sequence that `bound` agrees with now, or null; see merged_block.
  const variant* active = nullptr;
  recorder* recording = nullptr;
  slot recorded{};  ///< what begin points to while a profile is made
  bool has_tombstones = false;
  bool serves_waiters = false;  ///< its handler is bound
};

}  // namespace detail
}  // namespace heddle
