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

/// A sequence of handlers that a plan merges. Its address is its identity, and is even.
struct variant {
  const std::int32_t* numbers;  ///< -1: any handler, called through its slot
  std::uint32_t len;
};

/// The sizes of a plan.
struct plan_size {
  std::uint32_t topics = 0;
  std::uint32_t chains = 0;
  std::uint32_t objects = 0;
};

/// The plan's variants of one topic. A chain is a set of topics whose bindings one state describes,
/// because their handlers raise each other; a topic with several variants is a chain of its own.
struct variant_table {
  const void* plan = nullptr;
  const variant* first = nullptr;
  std::uint32_t count = 0;
  std::uint32_t topic = 0;        ///< the topic's number in the plan
  std::uint32_t chain = 0;        ///< the number of its chain
  std::uint32_t chain_len = 0;    ///< topics in the chain
  std::uint32_t objects_at = 0;   ///< offset of its handlers' objects in merged_block::objects
  const variant* lead = nullptr;  ///< names the state of a chain of several topics
  plan_size size{};
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

/// The state of a chain of merged topics in one bus: one word, which a merged raise compares with a
/// constant. It is a type of its own, so that the compiler knows which stores of handlers leave it
/// as it is.
enum class chain_state : std::uintptr_t {
  differs = 0,  ///< the bindings of a topic differ from the plan, or changed in this raise
  // Else the address of a variant: the bindings match. Plus 1: also, a raise of the chain runs.
};
[[nodiscard]] inline chain_state idle_state(const variant* v) noexcept {
  return static_cast<chain_state>(reinterpret_cast<std::uintptr_t>(v));
}
[[nodiscard]] inline chain_state busy_state(const variant* v) noexcept {
  return static_cast<chain_state>(reinterpret_cast<std::uintptr_t>(v) + 1);
}
[[nodiscard]] inline bool is_busy(chain_state s) noexcept {
  return (static_cast<std::uintptr_t>(s) & 1) != 0;
}

/// The part of a bus that merged raises read. The data of a small plan are inside, where a raise
/// needs no pointer to them. Another plan's data never equal a state of this plan.
struct merged_block {
  static constexpr std::uint32_t near_chains = 24;
  static constexpr std::uint32_t near_objects = 72;

  chain_state near_states[near_chains] = {};
  void* near_objects_of[near_objects] = {};
  const void* plan = nullptr;     ///< the plan that defines the layout
  chain_state* states = nullptr;  ///< by chain
  /// Objects of the handlers of all topics, in their order; for a hole, its slot.
  void** objects = nullptr;
  const topic_info** topics = nullptr;  ///< by topic: the first of its hash that was bound
};

/// The data of a plan's topics in one bus that only binding and unbinding need, and the memory of a
/// plan that does not fit into a merged_block.
struct merged_memory {
  struct chain {
    chain_state idle = chain_state::differs;  ///< the chain's state outside of raises
    std::uint32_t matching = 0;               ///< the number of its topics that match
  };
  std::vector<chain> chains;
  std::vector<const topic_info*> topics;
  /// The hashes of topics that stay generic, as HEDDLE_BUS_GENERIC says; or all.
  std::vector<std::uint64_t> generic;
  bool all_generic = false;
  std::vector<chain_state> far_states;
  std::vector<void*> far_objects;
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
  /// The plan's variant that `bound` matches now, or null.
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
