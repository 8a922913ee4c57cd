// SPDX-License-Identifier: MIT
// The type checker: names in scope, types as written, conversions.
#pragma once

#include <optional>

#include "draft/front.hh"
#include "draft/operations.hh"
#include "source/nearest.hh"

namespace heddle::draft {

/// Resolves what is written in one module.
class resolver {
 public:
  resolver(program& p, module& m, source::diagnostics& report)
      : program_(p), module_(m), report_(report), types_(p.types) {}

  /// The type as written, or poison after a report.
  [[nodiscard]] const type* resolve(const type_expr& t);
  /// The type of a parameter that is an action.
  [[nodiscard]] const type* resolve_action(const type_expr& t);
  /// The type that an operation's table names; `of` is its T.
  [[nodiscard]] const type* resolve_word(std::string_view word, const type* of);

 protected:
  source::diagnostic& error(const char* code, span at, std::string message) {
    return report_.error(code, at, std::move(message));
  }
  void refuse_size(span at, std::uint64_t size);
  [[nodiscard]] const type* poison() const noexcept { return types_.basic(kind::poison); }
  /// The symbol of a name in this module, or of module.name; marks it used.
  [[nodiscard]] symbol* find_symbol(std::string_view name) noexcept;

  program& program_;
  module& module_;
  source::diagnostics& report_;
  type_table& types_;
};

[[nodiscard]] std::string quoted(std::string_view name);

/// Checks expressions and bodies of one module.
class checker : public resolver {
 public:
  using resolver::resolver;

  void check_constant(constant& c);
  void check_function(function& f);
  void check_enum(enumeration& e);

 private:
  void compute_constant(constant& c);

  // Expressions (check_expr.cc, check_call.cc, check_operator.cc, check_value.cc). check() finds
  // the type; want is a wish, which literals follow.
  const type* check(expr& e, const type* want = nullptr);
  /// The value becomes `want`; a fallible value is refused.
  const type* check_value(expr& e, const type* want, const char* what = nullptr);
  void convert(expr& e, const type* want, const char* what);
  [[nodiscard]] bool converts(const expr& e, const type* want) const;
  void refuse_fallible(expr& e);
  const type* check_name(expr& e, name_expr& x, const type* want);
  const type* check_member(expr& e, member_expr& x);
  const type* check_enumerator(expr& e, const member_expr& x, const type& of);
  /// The expression is the name of a constant, of this module or another one.
  const type* use_constant(expr& e, const constant& c);
  const type* check_call(expr& e, call_expr& x, const type* want);
  const type* check_operation(expr& e, call_expr& x, const operation& op, expr* receiver,
                              const type* of);
  const type* check_user_call(expr& e, call_expr& x, function& f, bool spawned);
  const type* check_record_call(expr& e, call_expr& x, const type* t);
  const type* check_conversion(expr& e, call_expr& x, const type* t);
  const type* check_event(expr& e, call_expr& x);
  const type* check_construct(expr& e, call_expr& x, name_expr& made, const type* want);
  /// The arguments, after the call itself was wrong.
  const type* wrong_call(expr& e, call_expr& x);
  const type* check_unary(expr& e, unary_expr& x, const type* want);
  const type* check_binary(expr& e, binary_expr& x, const type* want);
  const type* check_index(expr& e, index_expr& x);
  const type* check_list(expr& e, list_expr& x, const type* want);
  const type* check_spawn(expr& e, spawn_expr& x);
  const type* check_try(expr& e, try_expr& x, const type* want);
  const type* check_or(expr& e, or_expr& x, const type* want);
  const type* check_move(expr& e, move_expr& x, const type* want);
  /// The value of a checked expression is moved; `written` says that the word `move` is there.
  void move_from(expr& x, span at, bool written);
  void check_argument(argument& a, const type* want, passing how, std::string_view name);
  // Actions (check_action.cc).
  void check_action_argument(expr& e, const type& want, const std::string& what);
  void check_action_body(expr& e, action_expr& x, const type& want);
  const type* check_action_call(expr& e, call_expr& x, variable& v);
  const type* refuse_action(expr& e, const action_expr& x);
  /// The expression that an action consists of is its result, with its error.
  void check_action_result(stmt& only, const type& want);
  [[nodiscard]] symbol* symbol_of(const expr& callee, module*& home);
  void fold_binary(expr& e, const binary_expr& x);
  [[nodiscard]] static variable* root_of(const expr& e) noexcept;
  [[nodiscard]] bool is_place(const expr& e) const noexcept;
  /// The expression makes the bytes that a view of it would look into; they end with the statement.
  [[nodiscard]] bool is_temporary(const expr& e) const noexcept;
  void refuse_temporary(const expr& e);
  void require_changeable(const expr& e, span at, const std::string& why);
  const type* wrong(expr& e) {
    e.type = poison();
    return e.type;
  }
  std::string suggest(std::string_view name) const;

  // Statements (check_stmt.cc, check_types.cc).
  void check_block(block& b);
  void check_stmt(stmt& s);
  void check_loop(block& b);
  void check_let(let_stmt& x, span at);
  void check_assign(assign_stmt& x, span at);
  void check_for(for_stmt& x);
  void check_match(match_stmt& x, span at);
  void check_any(any_stmt& x, span at);
  void check_wait(wait_stmt& x, span at);
  void check_return(return_stmt& x, span at);
  /// The checked value becomes the result of the function or action.
  void give_result(expr& value);
  void check_jump(const char* name, span at);
  void check_fail(fail_stmt& x, span at);
  void check_condition(condition& c);
  void check_expression_stmt(expr& e);

  // Names in scope.
  variable* declare(std::string_view name, span at, const type* t, bool is_var);
  [[nodiscard]] variable* find_variable(std::string_view name) noexcept;
  struct names_here {
    explicit names_here(checker& c) : owner(c), count(c.scope_.size()) {}
    names_here(const names_here&) = delete;
    ~names_here() { owner.leave_scope(count); }
    checker& owner;
    std::size_t count;
  };
  void leave_scope(std::size_t count);

  // The result, and whether it may be an error, of the function or of the action around the place,
  // which is what return, try and fail leave.
  [[nodiscard]] const type* result_here() const noexcept {
    return action_ != nullptr ? action_->of : function_->result;
  }
  [[nodiscard]] bool may_fail_here() const noexcept {
    if (action_ != nullptr) return action_->of_fallible;
    return function_->fallible() || function_->is_thread() || function_->is_main();
  }
  [[nodiscard]] std::string name_here() const {
    return action_ != nullptr ? "this action" : quoted(function_->name);
  }
  void note_result_here(source::diagnostic& d) const;

  function* function_ = nullptr;
  const type* action_ = nullptr;  // the type of the action around, or null
  span action_at_{};
  std::size_t outer_names_ = 0;  // names of scope_ that the action around has from outside
  std::vector<variable*> scope_;
  std::uint32_t loops_ = 0;
  struct open_wait {
    wait_stmt* at;
    std::size_t names;   ///< how many were in scope before it
    bool tried = false;  ///< an event was made in it, perhaps a wrong one
  };
  std::vector<open_wait> waits_;
  std::uint32_t scopes_ = 0;  // `scope { }` around
};

/// A function has at most this many statements when its calls of functions that take actions are
/// expanded.
inline constexpr std::uint64_t expanded_code_max = 10'000;
/// Reports functions whose code is too large with the actions that their calls expand. All forms
/// are chosen before.
void bound_expanded_code(const std::vector<function*>& functions, source::diagnostics& report);
/// Makes functions apart that would be merged into too much code. All forms are chosen before; the
/// list has all functions that have a body.
void bound_merged_code(const std::vector<function*>& functions, source::diagnostics& report);
/// Sets stmt::yields of the loops of a function. find_waits() runs before.
void mark_yielding_loops(function& f);
/// Whether the name is a built-in module: net, fs, time, log, rand.
[[nodiscard]] bool is_namespace(std::string_view name) noexcept;
/// Whether values of the type are bytes that a view may look into.
[[nodiscard]] bool like_view(const type& t) noexcept;
using source::nearest;
/// Decimal digits of a wide number.
[[nodiscard]] std::string to_decimal(__int128 n);

}  // namespace heddle::draft
