// SPDX-License-Identifier: MIT
// The flow of one function: blocks of instructions with one tail each. lower.cc makes it from the
// typed tree; from here on there is no defer, scope, try or within: all are edges and calls.
// simplify.cc, fold.cc and live.cc work on it, and emit_c.cc writes it.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "draft/operations.hh"
#include "draft/types.hh"
#include "draft/value.hh"

namespace heddle::draft {

using block_id = std::uint32_t;

/// A variable of the flow: of the program, or a temporary.
struct slot {
  std::string name;
  const draft::type* type = nullptr;
  bool temporary = false;
  bool parameter = false;
  bool by_reference = false;  ///< C has its address
  bool in_frame = false;      ///< live across a wait
  std::vector<var_id> looks_into;
  span at{};
  // Set by plan().
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
  std::uint32_t align = 1;
};

/// An argument of a call.
struct passed {
  value what;
  bool by_address = false;
};

// The instructions, one type each.
struct set_instr {  ///< the place becomes the value
  value place;
  value from;
};
struct clear_instr {  ///< an owner gives up its value: null
  var_id slot;
};
struct retain_instr {  ///< counts the value in the place once more
  value place;
};
struct release_instr {  ///< closes, frees or counts down the value of a slot, unless null
  var_id slot;
};
struct open_within {  ///< begins a block `within limit`
  var_id slot;
  value limit;
};
struct close_within {  ///< ends a block `within`
  var_id slot;
};
struct open_scope {  ///< begins a block `scope`; a leave_tail ends it
  var_id slot;
};
struct open_shield {  ///< begins a block `shield`
  var_id slot;
};
struct close_shield {  ///< ends a block `shield`
  var_id slot;
};
struct call_parts {  ///< the fields that all calls share
  std::vector<passed> args;
  var_id result = no_id;     ///< where the call puts its value
  bool sets_status = false;  ///< the call answers 0 or an error in `status`

  void pass(value what, bool by_address = false) { args.push_back({std::move(what), by_address}); }
};
struct operation_call : call_parts {  ///< a built-in operation
  const operation* builtin = nullptr;
  std::optional<value> on;          ///< the receiver
  const draft::type* of = nullptr;  ///< T of channel<T>
};
struct print_call : operation_call {};  ///< log.print and buffer.put
struct function_call : call_parts {     ///< a function of Draft without waits, or of C
  draft::function* callee = nullptr;
};
struct frame_call : call_parts {  ///< makes the frame of an apart function
  draft::function* callee = nullptr;
};
struct spawn_call : call_parts {  ///< starts a thread or a job
  draft::function* callee = nullptr;
  const draft::type* of = nullptr;  ///< T of the job
  var_id scope = no_id;             ///< the scope to spawn in
  bool has_color = false;           ///< the last argument is the color
};

struct instr : node_of<set_instr, clear_instr, retain_instr, release_instr, open_within,
                       close_within, open_scope, open_shield, close_shield, operation_call,
                       print_call, function_call, frame_call, spawn_call> {
  span at{};
};

// The ways in which a block ends, one type each. `next` of the tail lists the blocks that follow.
struct open_tail {};  ///< the block is being built
struct go_tail {};    ///< next: the one
struct branch_tail {  ///< next: yes, no
  value condition;
};
struct check_tail {};  ///< asks whether status is an error; next: fine, failed
struct fault_tail {};  ///< asks for a fault in this block's values; next: fine, failed
struct choose_tail {   ///< a switch; next: one a case, then the rest
  value of;
  std::vector<__int128> cases;
  std::vector<std::string> texts;  ///< cases of a switch over texts
};
struct wait_tail {  ///< asks until the operation answers; next: answered
  operation_call ask;
};
struct pool_tail {  ///< runs a foreign function that blocks, in the pool; next: ended
  function_call ask;
};
struct call_tail {  ///< runs an apart function until it ends; next: ended
  function_call ask;
};
struct any_tail {  ///< asks the arms until one answers; next: one an arm
  std::vector<operation_call> arms;
  var_id won = no_id;  ///< the arm that won last
};
struct leave_tail {  ///< waits for the jobs of a scope; next: they have ended
  var_id scope = no_id;
  bool cancels = false;
};
struct yield_tail {};  ///< lets others run when the budget is spent; next: the loop
struct end_tail {      ///< ends the function
  bool has_status = true;
};

struct tail : node_of<open_tail, go_tail, branch_tail, check_tail, fault_tail, choose_tail,
                      wait_tail, pool_tail, call_tail, any_tail, leave_tail, yield_tail, end_tail> {
  span at{};
  std::vector<block_id> next;

  /// Whether control waits here.
  [[nodiscard]] bool waits() const noexcept {
    return is<wait_tail, pool_tail, call_tail, any_tail, leave_tail, yield_tail>();
  }
  /// The value that decides what follows, or null.
  [[nodiscard]] value* decides() noexcept;
  [[nodiscard]] const value* decides() const noexcept;
  /// The variable that it uses in place, or no_id.
  [[nodiscard]] var_id in_place() const noexcept;
  /// Becomes a jump.
  void become_go(block_id to) {
    how = go_tail{};
    next = {to};
  }
};

struct flow_block {
  std::vector<instr> body;
  draft::tail tail;
  std::string name;               ///< "receive_7"
  std::uint32_t wait_number = 0;  ///< case in the switch, for tails that wait
  bool reachable = false;
};

struct flow {
  draft::function* fn = nullptr;
  std::vector<slot> slots;
  std::vector<flow_block> blocks;  ///< the first is the entry
  var_id status = 0;               ///< 0, or -error; slots[0]
  var_id result = no_id;
  std::vector<var_id> params;
  std::uint32_t waits = 0;     ///< number of blocks that wait
  bool has_wait = false;       ///< the frame needs a wait record
  std::uint32_t arms_max = 0;  ///< arms that the frame has room for
  bool has_frame = false;
  bool may_fault = false;
  bool recursive = false;
  std::uint32_t frame_size = 0;
  std::uint32_t frame_size_least = 0;  ///< the most bytes that are live at one wait
};

/// The passes that run: one may be turned off, to find the one at fault.
struct pass_options {
  bool simplify = true;
  bool fold = true;
  bool dead = true;
  bool fuse = true;
  bool overlap = true;
};

/// The flows of all functions that have code of their own, callees before callers.
[[nodiscard]] std::vector<flow> lower(program& p);

void simplify(flow& f);  ///< jump threading, never across a wait
void fold(flow& f);      ///< constants, and releases of what is known to be null
void remove_dead(flow& f);
void fuse(flow& f);
/// Finds the slots that live across waits, and places them in the frame.
void plan(flow& f, bool overlap);
void optimize(flow& f, const pass_options& passes);

[[nodiscard]] std::string print_flow(const flow& f);
[[nodiscard]] std::string print_dot(const flow& f);
[[nodiscard]] std::string print_plan(const flow& f);
[[nodiscard]] std::string print_value(const flow& f, const value& v);

struct emit_options {
  bool lines = true;             ///< #line
  std::string header_name = {};  ///< the header that the C file includes
};
[[nodiscard]] std::string emit_c(program& p, std::vector<flow>& flows, const emit_options& options);
[[nodiscard]] std::string emit_header(program& p, std::vector<flow>& flows);

/// Calls use(slot, how) for each slot that an instruction or tail reads ('u') or wholly writes
/// ('d').
template <class F>
void each_slot(const value& v, F&& use) {
  if (v.slot() != no_id) use(v.slot(), 'u');
  each_part(v, [&](const value& part) { each_slot(part, use); });
}
template <class F>
void each_slot(const call_parts& c, var_id status, F&& use) {
  for (const passed& a : c.args) each_slot(a.what, use);
  // The result is written after the arguments were read.
  if (c.result != no_id) use(c.result, 'd');
  if (c.sets_status) use(status, 'd');
}
template <class F>
void each_slot(const operation_call& c, var_id status, F&& use) {
  const bool writes_all = c.on && c.on->slot() != no_id && c.builtin->id == operation_id::set_text;
  if (c.on && !writes_all) each_slot(*c.on, use);
  each_slot(static_cast<const call_parts&>(c), status, use);
  if (writes_all) use(c.on->slot(), 'd');
}
template <class F>
void each_slot(const spawn_call& c, var_id status, F&& use) {
  if (c.scope != no_id) use(c.scope, 'u');
  each_slot(static_cast<const call_parts&>(c), status, use);
}
template <class F>
void each_slot(const instr& i, var_id status, F&& use) {
  by_kind(
      i,
      [&](const set_instr& x) {
        each_slot(x.from, use);
        if (x.place.slot() != no_id)
          use(x.place.slot(), 'd');
        else
          each_slot(x.place, use);
      },
      [&](const retain_instr& x) { each_slot(x.place, use); },
      [&](const open_within& x) {
        each_slot(x.limit, use);
        use(x.slot, 'd');
      },
      [&](const one_of<clear_instr, open_scope, open_shield> auto& x) { use(x.slot, 'd'); },
      [&](const one_of<release_instr, close_within, close_shield> auto& x) { use(x.slot, 'u'); },
      [&]<std::derived_from<call_parts> Call>(const Call& x) { each_slot(x, status, use); });
}
/// Calls f(call) for each call that the tail makes: one of a wait or a call, those of the arms.
template <one_of<tail> Tail, class F>
void each_call(Tail& t, F&& f) {
  if (auto* const w = t.template get<wait_tail>()) f(w->ask);
  if (auto* const p = t.template get<pool_tail>()) f(p->ask);
  if (auto* const c = t.template get<call_tail>()) f(c->ask);
  if (auto* const a = t.template get<any_tail>())
    for (auto& arm : a->arms) f(arm);
}
/// Calls f(call) for each call of the block, those of its tail last.
template <class F>
void each_call(const flow_block& b, F&& f) {
  const auto look = [&]<class T>(const T& x) {
    if constexpr (std::derived_from<T, call_parts>) f(x);
  };
  for (const instr& i : b.body) std::visit(look, i.how);
  each_call(b.tail, f);
}
/// Calls `use` for the tail's reads, then for its writes.
template <class F>
void each_slot(const tail& t, var_id status, var_id result, F&& use) {
  if (const value* const v = t.decides()) each_slot(*v, use);
  if (t.is<any_tail>()) use(t.in_place(), 'u');
  each_call(t, [&](const auto& call) { each_slot(call, status, use); });
  if (t.is<leave_tail>()) use(t.in_place(), 'u');
  // A fault becomes the status; if there is none, the status is not read.
  if (t.is<fault_tail>()) use(status, 'd');
  const end_tail* const end = t.get<end_tail>();
  if (t.is<check_tail>() || (end != nullptr && end->has_status)) use(status, 'u');
  if (end != nullptr && result != no_id) use(result, 'u');
}

}  // namespace heddle::draft
