// SPDX-License-Identifier: MIT
// The expressions and statements of a module. The parser makes it; the checker writes types and
// meanings into the fields that say so, and from then on it is the typed tree that the interpreter
// runs and lower.cc turns into blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "draft/by_kind.hh"
#include "draft/token.hh"

namespace heddle::draft {

struct type;
struct variable;
struct function;
struct record;
struct enumeration;
struct constant;
struct operation;
struct module;
struct expr;
struct stmt;

using expr_ptr = std::unique_ptr<expr>;
using stmt_ptr = std::unique_ptr<stmt>;

/// A type as written: `?text<64>`, `[4]int`, `net.addr`, `channel<post>`.
struct type_expr {
  enum class form : std::uint8_t { none, name, optional, array, number, action };
  form kind = form::none;
  span at{};
  std::string_view module;  ///< `net` in `net.addr`
  std::string_view name;
  std::uint64_t number = 0;      ///< length of an array, or a number as argument
  bool has_arguments = false;    ///< `< >` follows the name, perhaps with nothing in it
  bool fallible = false;         ///< the result of an action has a `!`
  std::vector<type_expr> inner;  ///< arguments in < >, the one behind ? or [N], or a result

  [[nodiscard]] explicit operator bool() const noexcept { return kind != form::none; }
};

struct block {
  span at{};
  std::vector<stmt_ptr> body;
};

struct argument {
  std::string_view name;  ///< `from` in `from: id`
  span at{};
  expr_ptr value;
};

/// The meaning of a name, a member or a call.
enum class meaning : std::uint8_t {
  unknown,
  local,       ///< name_expr::var
  constant,    ///< expr::number holds it, or bytes_of() gives it
  function,    ///< a function of the program, in call_expr::callee of a call
  record,      ///< a record's constructor: expr::type
  conversion,  ///< u16(x), text<8>(x): expr::type
  construct,   ///< the name of a constructor: buffer, channel
  operation,   ///< a built-in function or member: its op
  action,      ///< a call of a parameter that is an action: call_expr::action()
  field,       ///< member_expr::field
  enumerator,  ///< expr::number
  error_name,  ///< error.too_big: expr::number is its code
  namespace_,  ///< net, fs, a module, an enum's name
};

// The expressions, one type each. A pointer is not null unless the comment says so.
struct bad_expr {};
struct name_expr {
  std::string_view name;
  bool has_generic = false;
  std::vector<type_expr> generic = {};  ///< `post` in `channel<post>`
  // Set by the checker.
  variable* var = nullptr;
  const constant* value = nullptr;
  bool moves = false;  ///< this use of a variable takes what it owns
};
struct integer_expr {  ///< also a character
  std::uint64_t value;
};
struct duration_expr {
  std::uint64_t value;
};
struct boolean_expr {
  bool value;
};
struct text_expr {
  std::string bytes;
};
struct none_expr {};
struct list_expr {
  std::vector<argument> elements;
};
struct call_expr {
  expr_ptr called;
  std::vector<argument> args = {};  ///< a value is null where a field of a record is left out
  // Set by the checker.
  function* callee = nullptr;
  const operation* op = nullptr;
  const draft::type* op_type = nullptr;  ///< the T of channel<T> that op works on

  /// The object whose operation is called, or null.
  [[nodiscard]] const expr* receiver() const noexcept;
  /// The parameter that is called, or null.
  [[nodiscard]] variable* action() const noexcept;
};
struct index_expr {
  expr_ptr of;
  expr_ptr at;
};
struct member_expr {
  expr_ptr of;
  std::string_view name;
  span name_at{};
  // Set by the checker.
  std::size_t field = 0;
  const operation* op = nullptr;
  const constant* value = nullptr;
};
struct unary_expr {
  word op;
  expr_ptr of;
};
struct binary_expr {
  word op;
  expr_ptr left;
  expr_ptr right;
};
struct range_expr {
  expr_ptr from;  ///< null: from the start
  expr_ptr to;    ///< null: to the end
};
struct try_expr {
  expr_ptr of;
};
struct move_expr {
  expr_ptr of;
};
struct spawn_expr {
  expr_ptr call;
  expr_ptr color;  ///< or null
};
struct or_expr {
  expr_ptr of;
  // One of these three is not null.
  expr_ptr otherwise = {};
  stmt_ptr jump = {};  ///< `or return`
  std::unique_ptr<block> handler = {};
  std::string_view name = {};  ///< name of the error in the handler
  span name_at{};
  // Set by the checker.
  variable* error_var = nullptr;
  bool discards = false;     ///< the value is not used
  bool of_optional = false;  ///< handles none, not an error
};

/// `fn() { ... }`, the argument of a parameter that is an action.
struct action_expr {
  std::unique_ptr<block> body;
  // Set by the checker.
  variable* to = nullptr;  ///< the parameter
};

struct expr
    : node_of<bad_expr, name_expr, integer_expr, duration_expr, text_expr, boolean_expr, none_expr,
              list_expr, call_expr, index_expr, member_expr, unary_expr, binary_expr, range_expr,
              try_expr, move_expr, spawn_expr, or_expr, action_expr> {
  span at{};
  bool parenthesized = false;
  std::uint32_t depth = 1;

  // Set by the checker.
  const draft::type* type = nullptr;
  bool fallible = false;            ///< T!, and nothing took the error yet
  bool waits = false;               ///< this very operation, call or join may wait
  const draft::type* to = nullptr;  ///< the value becomes this: a wider integer, a view, ?T
  meaning means = meaning::unknown;
  bool is_constant = false;  ///< an integer, duration or bool that is known: see number
  __int128 number = 0;

  /// The variable that it is the name of, or null.
  [[nodiscard]] variable* local() const noexcept {
    const name_expr* const n = get<name_expr>();
    return n != nullptr ? n->var : nullptr;
  }
  /// The type that the value has where it is used.
  [[nodiscard]] const draft::type* final_type() const noexcept { return to != nullptr ? to : type; }
};

[[nodiscard]] expr_ptr make_expr(span at, expr::kinds how);

struct match_arm {
  span at{};
  bool otherwise = false;
  std::vector<expr_ptr> patterns;
  block body;
};

struct any_arm {
  enum class form : std::uint8_t { wait, after, failed };
  form kind = form::wait;
  span at{};
  std::string_view name;  ///< x in `x = ...`, e in `else e`
  span name_at{};
  expr_ptr what;  ///< the operation, or the duration
  block body;
  variable* var = nullptr;
};

/// `if` and `while`: a bool, or `let name = value` where the value is an optional.
struct condition {
  expr_ptr value;
  std::string_view name;  ///< empty: the value is a bool
  span name_at{};
  variable* var = nullptr;  ///< set by the checker

  [[nodiscard]] bool always_true() const noexcept {
    return name.empty() && value->is_constant && value->number != 0;
  }
};

// The statements, one type each.
struct bad_stmt {};
struct let_stmt {
  bool is_var = false;
  std::string_view name = {};
  span name_at{};
  type_expr type = {};
  expr_ptr value = {};  ///< null: `var` without a value
  // Set by the checker.
  variable* var = nullptr;
};
struct expression_stmt {
  expr_ptr value;
};
struct assign_stmt {
  word op;  ///< = += -= *= /=
  expr_ptr to;
  expr_ptr value;

  /// + of +=, and none of =.
  [[nodiscard]] word computes() const noexcept;
};
struct if_stmt {
  condition when;
  block body;
  std::optional<block> otherwise;
};
struct while_stmt {
  condition when;
  block body;
  bool yields = false;  ///< set by the checker: it might run long without a wait
};
struct loop_stmt {
  block body;
  // Set by the checker.
  bool yields = false;
  bool endless = false;  ///< nothing leaves the loop
};
struct for_stmt {
  std::string_view name = {};
  span name_at{};
  std::string_view second = {};  ///< x in `for i, x in`
  span second_at{};
  expr_ptr over = {};
  block body;
  // Set by the checker.
  variable* var = nullptr;
  variable* second_var = nullptr;
  bool yields = false;
};
struct match_stmt {
  expr_ptr value;
  std::vector<match_arm> arms = {};
};
struct any_stmt {
  std::vector<any_arm> arms;
};
struct wait_stmt {
  block body;
  std::vector<const expr*> events = {};  ///< set by the checker: each `event(x)` in it
};
struct scope_stmt {
  block body;
};
struct nowait_stmt {
  block body;
};
struct shield_stmt {
  block body;
};
struct within_stmt {
  expr_ptr limit;
  block body;
};
struct defer_stmt {
  expr_ptr value;  ///< null: the body runs
  block body;      ///< one `shield`
};
struct return_stmt {
  expr_ptr value;  ///< or null
};
struct break_stmt {};
struct continue_stmt {};
struct fail_stmt {
  expr_ptr error;
};

struct stmt
    : node_of<bad_stmt, let_stmt, expression_stmt, assign_stmt, if_stmt, while_stmt, loop_stmt,
              for_stmt, match_stmt, any_stmt, wait_stmt, scope_stmt, nowait_stmt, shield_stmt,
              within_stmt, defer_stmt, return_stmt, break_stmt, continue_stmt, fail_stmt> {
  span at{};
};

[[nodiscard]] stmt_ptr make_stmt(span at, stmt::kinds how);

/// Whether the operator of two values may be a fault: an overflow, a division by zero, a shift.
[[nodiscard]] bool may_fault(word op) noexcept;
/// The variable that a place is a part of, or null.
[[nodiscard]] variable* place_root(const expr& e) noexcept;

}  // namespace heddle::draft
