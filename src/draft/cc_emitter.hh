// SPDX-License-Identifier: MIT
// Writes a checked program as C++ on heddle/draft.hh. Each statement becomes one or several lines;
// an expression becomes a text, and may write lines before its statement where C++ has no
// expression for it, or leaves the order of evaluation open. emit_cc*.cc hold the members, by
// matter.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "draft/cc_lines.hh"
#include "draft/cc_text.hh"
#include "draft/types.hh"

namespace heddle::draft {

/// Ends the emission of a function; the report has the reason.
struct not_in_cc {};

/// The jumps inside a block that leave the block.
struct exits {
  bool returns = false;
  bool breaks = false;     ///< a loop around the block
  bool continues = false;  ///< a loop around the block
  [[nodiscard]] bool any() const noexcept { return returns || breaks || continues; }
};
[[nodiscard]] exits exits_of(const block& b, std::size_t first = 0);

/// The effect of an expression, as far as the order of evaluation can be seen. The later ones
/// include the earlier ones.
enum class effect : std::uint8_t {
  none,    ///< a constant, or a variable that never changes
  reads,   ///< a variable that may change
  faults,  ///< a value that may fail or allocate, and does nothing else
  acts,    ///< a call, a wait, or a change of something
};

class cc_emitter {
 public:
  cc_emitter(const program& p, source::diagnostics& report) : program_(p), report_(report) {}
  std::string run();

 private:
  // The program (emit_cc.cc).
  void collect_names();
  [[noreturn]] void stop(span at, const std::string& what);
  /// A name for something that has none in Draft: no name of the program.
  std::string fresh(const std::string& base);
  /// Frees the names that fresh() has made since there were `mark` of them.
  void forget_names(std::size_t mark);
  std::string heading();
  void emit_module(const module& m);
  void emit_declarations(const module& m);
  void emit_function(const function& f);
  /// A coroutine has one of their words, and no co_return too many.
  void end_coroutine(std::size_t from);
  void emit_main(const function& f);

  // Types and names (emit_cc_type.cc).
  std::string type_text(const type& t, span at);
  std::string function_text(const function& f);
  std::string scoped(const module* home, const std::string& name);
  std::string space_of(const module& m);
  std::string safe(const std::string& name) const;
  std::string name_of(const variable& v) const;
  std::string head_of(const function& f);
  std::string param_text(const function& f, const variable& v);
  /// Whether the function makes a task: it waits, or is a thread.
  static bool is_task(const function& f);
  void emit_record(const record& r, std::set<const record*>& done);
  void emit_enum(const enumeration& e);
  static bool is_c_text(const expr& e);

  // Values (emit_cc_value.cc).
  cc_expr text(const expr& e);
  cc_expr plain_text(const expr& e);
  cc_expr place_text(const expr& e);
  cc_expr literal_text(const expr& e);
  cc_expr constant_text(const type& t, __int128 n, span at);
  cc_expr number_text(const expr& e);
  cc_expr name_text(const expr& e);
  cc_expr index_text(const index_expr& x);
  cc_expr unary_text(const expr& e, const unary_expr& x);
  cc_expr binary_text(const expr& e, const binary_expr& x);
  cc_expr logic_text(const binary_expr& x);
  cc_expr checked(word op, const type& t, const expr* left, const cc_expr& a, const cc_expr& b,
                  span at);
  cc_expr list_text(const expr& e, const list_expr& x);

  // The order of evaluation (emit_cc_order.cc).
  effect effect_of(const expr& e);
  bool quiet(const function& f);
  static bool holds_wait(const expr& e);
  /// Whether its text needs lines before it.
  bool grows(const expr& e);
  /// Whether the first changes a variable that the second reads.
  bool meets(const expr& changes, const expr& reads);
  /// The operands' texts, in an order that C++ keeps: all but the last that acts are saved first.
  std::vector<cc_expr> operands(const std::vector<const expr*>& list,
                                const std::vector<bool>& places = {});
  /// Saves a value in a variable of a fresh name.
  cc_expr saved(const expr& e, const std::string& base);

  // Calls (emit_cc_call.cc, emit_cc_operation.cc).
  cc_expr call_text(const expr& e);
  /// The call without the co_await before it.
  cc_expr bare_call(const expr& e);
  cc_expr function_call(const call_expr& x);
  /// The lambda of an action, in lines of its own; gives its name.
  cc_expr action_text(const expr& e, const action_expr& x);
  cc_expr foreign_call(const expr& e, const call_expr& x);
  cc_expr record_text(const expr& e, const call_expr& x);
  cc_expr conversion_text(const expr& e, const call_expr& x);
  cc_expr operation_text(const expr& e);
  cc_expr construct_text(const expr& e, const call_expr& x);
  cc_expr spawn_text(const expr& e, const spawn_expr& x);
  static bool waits(const expr& call);
  /// GCC 12 destroys an aggregate twice that is made inside a co_await: it gets a name before.
  void name_aggregates(const call_expr& call);
  static bool foreign_blocks(const expr& call);

  // Handlers (emit_cc_or.cc).
  /// `a or handler` as a value; `name` is what the outcome may be called.
  cc_expr or_text(const expr& e, const or_expr& x, const std::string& name);
  void emit_or(const or_expr& x);
  cc_expr outcome_text(const or_expr& x);
  void emit_handler(const or_expr& x, const std::string& outcome);
  cc_expr short_or(const or_expr& x);

  // Statements (emit_cc_stmt.cc, emit_cc_loop.cc).
  /// `ends`: nothing follows in the braces.
  void emit_block(const block& b, std::size_t first = 0, bool ends = true);
  void emit_braces(const std::string& head, const block& b);
  void emit_stmt(const stmt& s, bool last = false);
  void emit_one(const stmt& s, bool last);
  void emit_let(const let_stmt& x, span at);
  void emit_assign(const assign_stmt& x, span at);
  void emit_if(const if_stmt& x, const std::string& before);
  void emit_while(const while_stmt& x);
  /// `first` comes first in its body.
  void emit_loop(const std::string& head, const block& b, bool yields,
                 const std::string& first = "");
  void emit_for(const for_stmt& x, span at);
  void emit_match(const match_stmt& x, bool all);
  void emit_return(const return_stmt& x);
  void emit_jump(bool leaves_loop);
  std::string condition_text(const condition& c, const std::string& keyword);
  /// The value of a condition; one that waits gets a name, because GCC 12 does not go on after a
  /// co_await in a condition.
  cc_expr holds_text(const expr& e);
  bool moved(const variable& v);

  // Waits and blocks (emit_cc_wait.cc).
  void emit_any(const any_stmt& x);
  void emit_wait(const wait_stmt& x);
  void emit_bounded(const block& b, const expr* limit, bool last);
  /// A defer; true when it took the rest of the block with it.
  bool emit_defer(const defer_stmt& x, const block& b, std::size_t next);
  /// A block as a lambda that `call` runs, with what follows from how it was left.
  void emit_lambda(const block& b, std::size_t first, const std::string& jobs,
                   const std::string& call, const std::string& after = "");
  /// Returns, with this value.
  void leave_with(const std::string& value);

  void line(const std::string& s) { out_.line(s); }

  /// How return, break and continue are written.
  struct place {
    /// `plain`: of an action that does not wait; the others but `function` are tasks.
    enum class form : std::uint8_t { function, plain, value, ways };
    form how = form::function;
    [[nodiscard]] bool is_task(const function& f) const noexcept {
      return how == form::function ? cc_emitter::is_task(f) : how != form::plain;
    }
    std::string result;  ///< form::ways: the variable for the value
    std::string jobs;    ///< the scope that a jump cancels first; only without a value
    int loops = 0;       ///< around the statement, inside of the lambda
  };

  const program& program_;
  source::diagnostics& report_;
  cc_lines out_;
  std::set<std::string, std::less<>> names_;  ///< names of the program, and made names
  std::vector<std::string> made_;             ///< by fresh(), in order
  std::map<std::string, std::string> safe_;   ///< names that C++ has a meaning for
  std::set<std::string> fields_;
  const module* module_ = nullptr;
  const function* function_ = nullptr;
  const type* result_ = nullptr;  ///< the result of the function or of the action around
  std::vector<place> places_;
  std::unordered_map<const variable*, cc_expr> texts_;  ///< variables that are part of another one
  std::unordered_map<const expr*, cc_expr> done_;       ///< values that were saved before
  std::unordered_map<const expr*, bool> grows_;
  std::unordered_map<const function*, bool> quiet_;
  std::set<const variable*> moved_;
  std::string turns_;  ///< the variable of the any() in the loop around
  std::string jobs_;   ///< the scope around
  std::string waits_;  ///< the wait around
  bool dry_ = false;   ///< dry run: finds out whether the block prints lines
};

}  // namespace heddle::draft
