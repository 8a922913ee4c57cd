// SPDX-License-Identifier: MIT
// A bus's record of one topic: an array of {function, object} in order, which a raise walks, and
// beside it the data that only binding and unbinding need.
//
// While any raise of the bus runs, the arrays keep their address and length: an unbound handler
// becomes a tombstone (a function that does nothing), and a new handler waits. When the outermost
// raise has ended, bus::settle() applies both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "heddle/base/list.hh"
#include "heddle/bus/topic.hh"

// Before a statement: inlines its calls, large or not, if possible. GCC has such an attribute for
// functions only and decides by itself.
#if defined(__clang__)
#define HEDDLE_INLINE_CALLS [[clang::always_inline]]
#else
#define HEDDLE_INLINE_CALLS
#endif

namespace heddle {

class bus;

namespace detail {
struct topic_info;
}

/// Identifies one bound handler, even after it was unbound.
struct binding {
  detail::topic_info* topic = nullptr;
  std::uint64_t serial = 0;
  friend bool operator==(const binding&, const binding&) = default;
};

namespace detail {

/// Whether the compiler obeys HEDDLE_INLINE_CALLS.
#if defined(__clang__)
inline constexpr bool inlines_calls = true;
#else
inline constexpr bool inlines_calls = false;
#endif

struct topic_record;
class recorder;

/// A function of any topic's signature; code that knows the topic casts it back.
using any_function = void (*)();

/// One bound handler as a raise uses it.
struct slot {
  any_function call;
  void* self;
};

/// The constant facts about a handler, independent of its bindings.
struct handler_info {
  std::uint64_t hash;
  int occurrence;  ///< index among handlers with this hash in one translation unit
  const char* name;
};

/// A handler's number in a plan; -1: the plan does not contain it.
struct planned_number {
  const void* plan = nullptr;
  int number = -1;
};

/// A sequence of handlers that a plan merges. Its address is its identity.
struct variant {
  const std::int32_t* numbers;  ///< -1: any handler, called through its slot
  std::uint32_t len;
};
struct variant_table {
  const void* plan = nullptr;
  const variant* first = nullptr;
  std::uint32_t count = 0;
  std::uint32_t block_at = 0;     ///< offset of this topic's words in the bus's merged block
  std::uint32_t block_words = 0;  ///< size of the whole block
};

/// The purpose of a binding. Class bus itself binds `waiters`, which serves tasks.
enum class slot_kind : std::uint8_t { handler, filter, waiters };

/// The data of a bound handler that only bind, unbind and the profile need.
struct slot_info {
  const handler_info* handler = nullptr;
  planned_number planned = {};
  std::int64_t order = 0;
  std::uint64_t serial = 0;          ///< identifies this binding; 0 for a tombstone
  const void* object = nullptr;      ///< for unbind_all
  void (*destroy)(void*) = nullptr;  ///< frees slot.self if the bus owns it
  slot_kind kind = slot_kind::handler;

  /// The order of a filter: filters come before all handlers.
  [[nodiscard]] static std::int64_t filter_order(int order) noexcept {
    return (std::numeric_limits<std::int64_t>::min() / 2) + order;
  }
};

/// A task that waits for the next raise of a topic.
struct topic_waiter : list_node {
  topic_waiter() noexcept = default;
  void (*closed)(topic_waiter&) noexcept = nullptr;  ///< called when the bus ends
  bool late = false;  ///< the task came during a raise, and waits for a later one
};

/// The functions that depend on the topic's signature, for code that does not know it.
struct topic_calls {
  any_function tombstone;
  any_function waiters;  ///< the handler that serves co_await next<T>()
  const handler_info* waiters_info;
  any_function filtered;  ///< runs the filters, and unless one halts, the handlers
  any_function recorded;  ///< does the same and records them
  const char* compiler;   ///< the compiler that the names are from
  planned_number waiters_planned;
  variant_table variants;  ///< the plan's variants of this topic
};
using make_topic_calls = topic_calls (*)();

/// The data of a topic that a merged raise reads; pointers to the handlers' objects follow it in
/// order.
struct merged_topic {
  const variant* active = nullptr;  ///< the variant that the bindings match now, or null
  const slot* begin = nullptr;      ///< the record's; null until a handler is bound
  const slot* end = nullptr;
  const topic_info* topic = nullptr;  ///< the topic of these bindings: the first of this hash

  static constexpr std::uint32_t words = 4;  ///< the size of this struct in pointers
  [[nodiscard]] void* self(std::size_t at) const noexcept {
    return reinterpret_cast<void* const*>(this + 1)[at];
  }
  void set_self(std::size_t at, void* object) noexcept {
    reinterpret_cast<void**>(this + 1)[at] = object;
  }
};
static_assert(sizeof(merged_topic) == merged_topic::words * sizeof(void*));

/// The merged topics of a bus in the plan's layout; a raise finds its topic by a constant offset.
struct merged_block {
  const void* plan = nullptr;  ///< the plan that defines the layout
  std::byte* memory = nullptr;
  [[nodiscard]] merged_topic& at(std::size_t word) const noexcept {
    return *reinterpret_cast<merged_topic*>(memory + word * sizeof(void*));
  }
};

struct topic_record {
  /// The handlers that a raise runs: `bound`, or `whole`. Constant while a raise runs.
  const slot* begin = nullptr;
  const slot* end = nullptr;

  topic_info* topic = nullptr;
  bus* owner = nullptr;
  topic_calls calls{};
  std::vector<slot> bound;
  std::vector<slot_info> infos;  ///< parallel to bound
  list<topic_waiter> waiters;
  /// The plan's variant that `bound` matches now, or null; see merged_block.
  const variant* active = nullptr;
  recorder* recording = nullptr;
  /// One handler in place of all, which runs them. A topic has it while it has filters, and while
  /// its raises are recorded.
  slot whole{};
  bool has_tombstones = false;
  bool serves_waiters = false;  ///< the handler of next<T>() is bound
};

}  // namespace detail
}  // namespace heddle
