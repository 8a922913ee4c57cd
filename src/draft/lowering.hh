// SPDX-License-Identifier: MIT
// Turns the typed tree of one function into blocks. Leaving a block runs its cleanups (releases,
// defer, the end of within and scope): a chain of unwinding blocks that all errors and returns
// share.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "draft/flow.hh"

namespace heddle::draft {

inline value make(const type* t, value::kinds how) { return {{std::move(how)}, t}; }
inline value make_number(const type* t, __int128 n) { return make(t, number_value{n}); }
/// Whether evaluating the expression calls something or moves an owner.
bool contains_effects(const expr& e);
/// Whether the evaluation of an expression of the list after number `n` has effects.
bool effects_follow(const std::vector<const expr*>& list, std::size_t n);

/// Lowers one function.
class lowering {
 public:
  lowering(program& p, function& f) : types_(p.types) {
    flow_.fn = &f;
    slot status;
    status.name = "status";
    status.type = types_.basic(kind::i64);
    flow_.slots.push_back(status);
    names_.insert(status.name);
  }

  flow run();

 private:
  // The cleanups to run when control leaves; a list from the inside outward.
  enum class cleanup_op : std::uint8_t { release, defer, within, scope, shield };
  struct cleanup {
    cleanup_op op;
    std::uint32_t parent;
    var_id slot = no_id;
    const defer_stmt* deferred = nullptr;
    block_id unwind = no_id;  ///< made when something unwinds from here
    span at{};
    std::uint32_t context;  ///< number of the function that it belongs to
  };
  struct loop {
    block_id head;
    block_id after;
    std::uint32_t cleanups;
  };
  struct context;
  /// An action with the names that it sees.
  struct bound_action {
    const action_expr* body = nullptr;
    context* home = nullptr;
  };
  /// The function or action whose body is being lowered; merged ones stand inside their callers.
  struct context {
    function* fn = nullptr;
    std::unordered_map<const variable*, var_id> names;
    std::unordered_map<const variable*, value>
        aliases;  ///< parameters that are the argument itself
    var_id result = no_id;
    block_id end = no_id;
    std::uint32_t base = no_id;  ///< the innermost cleanup of its caller
    std::vector<loop> loops;
    std::vector<var_id> scopes;
    std::unordered_map<const expr*, var_id> events;  ///< the rendezvous of each `event(x)`
    std::unordered_map<const variable*, bound_action> actions;
    context* outer = nullptr;  ///< the caller
    context* home = nullptr;   ///< the context whose names an action sees; null of a function
  };

  // Blocks.
  block_id fresh(std::string name);
  block_id fresh(const char* what, span at) {
    return fresh(std::string(what) + "_" + line_text(at));
  }
  static std::string line_text(span at) {
    return at ? std::to_string(at.file->line_of(at.begin)) : std::string("0");
  }
  [[nodiscard]] bool open() const noexcept {
    return at_ != no_id && flow_.blocks[at_].tail.is<open_tail>();
  }
  void finish(span at, std::vector<block_id> next, tail::kinds how);
  void go(block_id to, span at = {});
  void branch(value condition, block_id yes, block_id no, span at);
  void add(span at, instr::kinds how);

  // Slots and values.
  var_id add_slot(std::string name, const type* t, span at, bool temporary = false);
  var_id add_temp(const type* t, span at) { return add_slot("tmp_" + line_text(at), t, at, true); }
  value value_of(var_id id) const { return make(flow_.slots[id].type, slot_value{id}); }
  void set(value place, value from, span at);
  void set_status(std::int64_t n, span at) {
    set(value_of(flow_.status), make_number(types_.basic(kind::i64), n), at);
  }

  /// Ends the block: its last computation may be a fault.
  void check_fault(span at);
  /// A value that is no fault: one that may be a fault is computed into a temporary first.
  value safe(value v, span at);
  /// A value that can be read again after a wait: a temporary if `v` cannot.
  value stable(value v, span at);

  void note_value_views(var_id into, const value& v);
  /// Views of the program look into variables that the checker found.
  void link_views();
  void note_program_views(const variable& v, var_id id);

  // Cleanups.
  std::uint32_t push(cleanup c);
  void push_release(var_id slot);
  /// Where a call puts its value: `into`, or a temporary that is released if nothing was asked for.
  var_id result_slot(const type* t, var_id into, span at);
  /// The variable of a handler gets the error that is in `status`.
  void declare_error(const variable& v, span at);
  /// Runs one cleanup at the current place.
  void perform(const cleanup& c, bool early, bool cancels);
  /// The block that undoes everything from `node` outward and ends the function with `status`.
  block_id unwind_to(std::uint32_t node);
  /// Performs the cleanups down to `mark` here, for an ordinary way out; they stay for other ways.
  /// A jump (return, break, continue) cancels the scopes that it leaves.
  void unwind_inline(std::uint32_t mark, bool jumps = false);
  void leave_to(std::uint32_t mark, span) {
    unwind_inline(mark);
    top_ = mark;
  }

  // Calls.

  /// After a call that sets `status`: on an error to `failed`, else on.
  void check_status(block_id failed, span at, const char* name = "go_on");
  /// Whether the status is this constant of C.
  value status_is(const char* code) const {
    return make(types_.basic(kind::boolean),
                binary_value{word::s_eq, value_of(flow_.status),
                             make(types_.basic(kind::i64), foreign_value{code})});
  }

  /// An argument by value that may be read while the call goes on.
  value lower_argument(const expr& e, bool waits);

  /// The place of a variable expression; subscripts are computed first.
  value lower_place(const expr& e);

  value variable_value(const variable& v);
  /// The context that knows the variable: this one, or one around this action. Null: none does.
  [[nodiscard]] const context* knowing(const variable& v) const;

  var_id declare(const variable& v);

  /// Where an error of the next lowered code goes; no_id: it leaves the function.
  struct failure {
    block_id to = no_id;
    std::uint32_t mark = no_id;  ///< the cleanups around the handler
  };
  block_id failed_block(const failure& f, span at = {});

  /// Lowers a call, `try` or the like whose value is put into `into` (no_id: there is none). The
  /// value is the place's own: owned or counted for it.
  void lower_call(const expr& e, var_id into, const failure& on_error);

  operation_call make_operation(const call_expr& e, bool waits);

  /// A view's operations work on texts and bytes too.
  value as_receiver(value place, const operation& op);

  void lower_operation(const expr& e, const call_expr& x, var_id into, const failure& on_error);

  void note_call_views(const call_expr& x, var_id into);

  /// Arguments of a call, in the forms that its parameters need.
  void add_arguments(call_parts& c, const call_expr& call, const function& f, bool into_frame,
                     bool waits);

  void lower_function_call(const expr& e, const call_expr& x, var_id into, const failure& on_error);

  const type* frame_type() { return special("frame"); }

  /// An error goes where it is handled; a fault leaves the function in any case.
  void split_faults(const failure& on_error, span at);

  /// The body of a merged function, here.
  void lower_merged(const expr& e, const call_expr& x, var_id into, const failure& on_error);
  /// The body of the action that the parameter is bound to, here.
  void lower_action(const expr& e, const variable& v, var_id into, const failure& on_error);
  /// The action that an argument is, or that it passes on.
  bound_action action_of(const expr& e) const;
  /// A body in a context of its own; its result goes to `inner.result`.
  void lower_inside(context& inner, const block& b, bool fallible, span at,
                    const failure& on_error);

  // Expressions.

  /// Only the effects; the value is dropped.
  void lower_effects(const expr& e);
  void discard(const expr& e);

  /// A value that reads variables and has no effects; calls in it are made before.
  value lower(const expr& e);

  value converted(value v, const type* to);

  value lower_plain(const expr& e);
  /// A temporary with the value of an expression that has effects.
  value lower_made(const expr& e);

  value constant_of(const expr& e);

  value lower_index(const expr& e, const index_expr& x);

  value to_view(value v);

  value lower_binary(const expr& e, const binary_expr& x);

  static bool lowers_to_fault(const expr& e);

  /// Like lower_all, but values may stay unevaluated trees.
  std::vector<value> lower_all_lazily(const std::vector<const expr*>& list);

  /// Puts the value of an expression where it stays; counts and moves follow.
  void store(value place, const expr& e);
  /// A temporary with the expression's value, converted; it is released where it is not given away.
  var_id store_temp(const expr& e, const type* t);

  /// The place gets a temporary's value, and its ownership.
  void move_into(value place, value from, var_id tmp, span at);

  /// store() of what makes its value: calls, or, records, lists, spawn.
  void store_made(value place, const expr& e, const failure& on_error);

  void store_record(value place, const expr& e, const call_expr& x);

  void store_conversion(value place, const expr& e, const call_expr& x, const failure& on_error);

  static const operation& text_set_operation();

  void lower_or(const expr& e, const or_expr& x, var_id into);

  void lower_handler(const or_expr& x, var_id into, span at);

  void lower_spawn(const expr& e, const spawn_expr& x, var_id into);

  // Statements.
  void lower_block(const block& b);

  /// The end of a statement: its temporaries go, its declared variables stay.
  void lower_stmt(const stmt& s);

  const type* special(const char* name);

  void lower_let(const let_stmt& x, span at);

  void store_value(var_id id, const expr& e);

  void lower_assign(const assign_stmt& x, span at);

  bool reads_slot(const expr& e, var_id id);

  /// Where the assignment fails, something may still read what the variable held before.
  bool keeps_old_value(const assign_stmt& x) const;

  /// A condition, with the variable of `if let`; control goes on in `yes`.
  void lower_condition(const condition& c, block_id yes, block_id no, span at);

  void lower_if(const if_stmt& x, span at);

  /// Back to the loop's head, by way of the budget where the loop might run long.
  void go_back(block_id head, bool yields, span at);

  /// `loop`, or `while` with a condition.
  void lower_loop(const block& b, const condition* when, bool yields, span at);

  void lower_for(const for_stmt& x, span at);

  void lower_match(const match_stmt& x, span at);

  void lower_any(const any_stmt& x, span at);
  void lower_wait(const wait_stmt& x, span at);
  /// A block with the cleanup at its end.
  void lower_bounded(const block& b, cleanup_op op, var_id slot, span at);
  void lower_jump(block_id loop::* to, span at);
  void lower_event(const expr& e, const call_expr& x, var_id into);
  void join_events(const expr& made, var_id rendezvous);

  void lower_return(const return_stmt& x, span at);

  type_table& types_;
  flow flow_;
  block_id at_ = no_id;
  context* context_ = nullptr;
  std::vector<cleanup> cleanups_;
  std::uint32_t top_ = no_id;
  std::unordered_set<std::string> names_;
  std::vector<std::pair<var_id, var_id>> views_;
  std::vector<var_id> moved_;
  std::vector<std::pair<std::string, const type*>> special_;
  std::vector<var_id> won_;

 public:
  /// The arm that won last is unknown before the first any.
  void begin_any(flow& f);
};

}  // namespace heddle::draft
