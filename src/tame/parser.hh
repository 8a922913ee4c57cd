// SPDX-License-Identifier: MIT
// The shallow parser's state. Brackets are an immutable list of nodes, so that a conditional of the
// preprocessor saves and restores the state in constant time: each branch starts where `#if` was,
// and all of them must end alike. There is no recursion, so no input is too deep.
//
// An example, with the nodes that it makes. A node is made at its opening bracket and knows the one
// around it; node 0 is the file. When the newest node closes, its number is free again.
//
//   tamed void f(int n) {            1 `(` head_parens, in 0; then 1 `{` tamed_body, in 0: the
//                                      code is code::tamed, of function 0
//     twait {                        2 `{` wait_body, in 1: in_wait is wait 0
//       g(make_event(n));            3 `(` parens, in 2; 4 `(` event_arguments, in 3
//     }
//   }
//
//   token       announced then                     effect
//   `tamed`     head: function 0, stage type       begin_head() adds function 0 to the analysis
//   `(`         stage named; inside it nothing     name_head() finds `f`; node 1 opens
//   `)`         as before `(`: stage named         node 1 is dropped
//   `{`         nothing                            begin_body(): node 1; the name `n` is noted
//   `twait`     next: wait, of wait 0              twait_word() adds wait 0, of function 0
//   `{`         nothing                            node 2
//   make_event  next: event                        wait 0 makes events; a replacement is noted
//   `}`         nothing                            close_wait(): the range of wait 0 is known
//   `}`         nothing                            function 0 is complete
//
// The analysis then has function 0 (`f`, which waits) and wait 0 (kind all, with the ranges of
// `twait`, `{` and `}`); translate.cc and port.cc write their outputs from it.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tame/analysis.hh"
#include "tame/announced.hh"

namespace heddle::tame {

/// The role of a pair of brackets.
enum class role : std::uint8_t {
  plain,
  statement_expression,
  default_body,  // the body of DEFAULT_RETURN
  tamed_body,
  lambda_body,
  class_body,
  wait_body,
  vars,
  catch_body,
  switch_body,
  requires_body,  // { }
  parens,
  wait_arguments,
  head_parens,
  event_arguments,
  for_parens,  // ( )
  brackets,
  lambda_intro,
  description,
  attribute,  // [ ]
};

/// The kind of code inside a bracket: the function that runs it.
enum class code : std::uint8_t {
  ordinary,        ///< in a function that is not tamed, or in none
  tamed,           ///< in node::function
  lambda,          ///< in a lambda that is not tamed
  class_,          ///< members of a class
  default_return,  ///< statements of DEFAULT_RETURN
};

struct node;
struct declared_name;
using node_index = index_of<node>;
using name_index = index_of<declared_name>;

struct node {
  node_index parent;  ///< without a value: the node is the root
  int depth = 0;
  node_index brace;  ///< the innermost `{` that is open, this one included
  char bracket = '{';
  role what = role::plain;
  std::size_t open = 0;  ///< index of the token among those that count
  code in = code::ordinary;
  function_index function;   ///< for code::tamed
  function_index enclosing;  ///< the innermost tamed function around, also through lambdas
  wait_index in_wait;        ///< the innermost twait body of this function
  node_index catch_at;       ///< the catch handler around
  node_index expression_at;  ///< the statement expression around
  node_index loop_at;        ///< the innermost loop of this function with a bracket
  std::size_t waits = 0;     ///< the waits that were found when this opened
  token_index made_in_loop;  ///< in a loop: the first `e = make_event` outside of twait bodies
  bool in_switch = false;
  bool label_blocked = false;  ///< the innermost switch lies outside of a twait body
  wait_index wait;             ///< for a wait's body, arguments or description
  vars_index vars;             ///< for role::vars
  name_index names;            ///< the last name declared in a twait body before this opened
  /// The last name (or none) before the head of a loop in this bracket, until the loop ends.
  std::optional<name_index> before_loop;
  range class_name = {};  ///< for role::class_body; empty if it has none
  announced outer;        ///< the construct announced when this opened
  std::vector<std::uint32_t> commas;

  /// Code of another function begins: nothing of the one around holds in it.
  void begin_code(code kind, function_index f = {}) noexcept {
    in = kind;
    function = f;
    if (f) enclosing = f;
    in_wait = {};
    catch_at = expression_at = loop_at = {};
    in_switch = label_blocked = false;
  }
};

struct declared_name {
  name_index before;
  range where;
  wait_index wait;  ///< the twait body in which it is declared; none for references and statics
  bool lasting = false;   ///< the name is a reference, or static
  bool constant = false;  ///< const or constexpr
  int block = 0;          ///< the depth of the bracket with which the name ends
};

struct parser_state {
  node_index top = node_index(0);
  announced now;
  token_index previous;
  token_index statement;  ///< the first token of this statement
  name_index names;
};

class parser {
 public:
  /// A parser of a file, or of a macro's body in that file.
  parser(const source::source_file& file, const token_list& tokens, dialect language,
         source::diagnostics& out, analysis& found,
         const std::vector<scanned_include>& includes = {});

  void run();

 private:
  struct branch {
    parser_state before;
    std::optional<parser_state> result;
    std::size_t opened = 0;  ///< the index of the directive
    bool has_else = false;
    bool dead = false;      ///< inside a group that is never compiled
    bool skipping = false;  ///< this branch is never compiled
  };
  /// An array T name[n] whose size n is a variable. A function that waits cannot have one.
  struct sized_array {
    function_index function;
    range name;
    range size;
    range declared;
  };

  /// The text that is parsed. A macro's body becomes unbalanced, and stays so, if its brackets do
  /// not match.
  enum class body : std::uint8_t { file, macro, unbalanced_macro };
  static constexpr node_index root{0};

  // Tokens (parser.cc).
  [[nodiscard]] const token& at(std::size_t i) const noexcept { return *list_[i]; }
  [[nodiscard]] const token& at(token_index i) const noexcept { return at(i.value()); }
  [[nodiscard]] node& at(node_index i) noexcept { return nodes_[i.value()]; }
  [[nodiscard]] const node& at(node_index i) const noexcept { return nodes_[i.value()]; }
  [[nodiscard]] const declared_name& at(name_index i) const noexcept { return names_[i.value()]; }
  [[nodiscard]] const token* previous() const noexcept {
    return state_.previous ? list_[state_.previous.value()] : nullptr;
  }
  [[nodiscard]] const token* next(std::size_t i) const noexcept;
  [[nodiscard]] static bool is(const token* t, const char* p) noexcept {
    return t != nullptr && t->is(p);
  }
  [[nodiscard]] static bool is(const token* t, word w) noexcept { return t != nullptr && t->is(w); }
  [[nodiscard]] static range of(const token& t) noexcept { return {t.begin, t.end}; }
  [[nodiscard]] node& top() noexcept { return at(state_.top); }
  [[nodiscard]] source::span place(range r) const noexcept { return {&file_, r.begin, r.end}; }
  [[nodiscard]] source::span place(const token& t) const noexcept { return place(of(t)); }

  void parse(const std::vector<const token*>& tokens, body what, function_index function);
  void collect();
  void step(std::size_t i);
  void step_identifier(std::size_t i);
  void step_punctuator(std::size_t i);
  void step_lambda(const token& t) noexcept;
  void step_class(const token& t);
  void open(std::size_t i, char bracket, role what);
  void open_brace(std::size_t i);
  void open_paren(std::size_t i);
  void open_bracket(std::size_t i);
  void close(std::size_t i, char bracket);
  void closed(std::size_t i, const node& n);
  void end_of_tokens();
  /// Variables of a loop's head end with the loop.
  void end_loop_names() noexcept {
    if (const auto before = std::exchange(top().before_loop, std::nullopt)) state_.names = *before;
  }

  // Words that lints look at (parse_lint.cc).
  void use_of_name(std::size_t i);
  void note_parameters(function_index f);
  void note_thread_local(std::size_t i);
  void begin_array(std::size_t i);
  void report_arrays(function_index f);
  void lint_lambda(std::size_t i, const node& n);
  void lint_life(std::size_t i);
  void end_loop(std::size_t i, const node& n);
  [[nodiscard]] const declared_name* declared(std::string_view name) const noexcept;

  // Functions (parse_function.cc).
  [[nodiscard]] bool begins_function(std::size_t i) const noexcept;
  void begin_head(std::size_t i, bool by_macro);
  void step_head(std::size_t i);
  void name_head(std::size_t i);
  [[nodiscard]] bool names_constructor(std::size_t name, std::size_t i) const;
  void check_result(function& f, std::size_t first, std::size_t name);
  void begin_body(std::size_t i);
  void begin_lambda(std::size_t i);
  void read_parameters(function& f);
  void default_return_word(std::size_t i);
  void close_default_return(std::size_t i, const node& n);
  void report_result(const function& f);

  // Waits and variables (parse_wait.cc).
  void twait_word(std::size_t i);
  [[nodiscard]] bool in_function_body();
  void check_wait(const token& t);
  void make_event_word(std::size_t i);
  void check_slot(std::size_t i);
  void note_declaration(std::size_t i);
  void tvars_word(std::size_t i);
  void close_wait(std::size_t i, const node& n);
  void close_vars(std::size_t i, const node& n);
  [[nodiscard]] std::size_t skip_angles(std::size_t i, std::size_t end) const noexcept;

  // The preprocessor (parse_directive.cc).
  void directive(std::size_t i);
  void include(const token& t);
  void begin_branches(std::size_t i, bool never);
  void next_branch(std::size_t i, bool is_else, bool never);
  void end_branches(std::size_t i);
  void end_branch(std::size_t i, const parser_state& last);
  [[nodiscard]] bool alike(const parser_state& a, const parser_state& b);
  [[nodiscard]] bool about_tame(const parser_state& s) const noexcept;
  [[nodiscard]] std::string open_brackets(const parser_state& s, const parser_state& than) const;
  void define(const token& t);
  void undefine(const token& t);
  [[nodiscard]] bool unify(function_index a, function_index b);
  [[nodiscard]] function_index resolve(function_index f) const;

  const source::source_file& file_;
  const token_list& tokens_;
  dialect language_;
  source::diagnostics& out_;
  analysis& found_;

  std::vector<const token*> list_;
  std::vector<node> nodes_;
  std::size_t pinned_ = 0;  ///< nodes before this one may be in the state of a branch
  parser_state state_;
  std::vector<branch> branches_;
  std::vector<declared_name> names_;
  struct macro_names {
    std::unordered_set<std::string> returning;  ///< have a twin for tamed functions
    std::unordered_set<std::string> waiting;
    std::unordered_set<std::string> tamed;
  };
  macro_names own_macros_;
  macro_names* macros_ = &own_macros_;  ///< a macro's body knows those of its file
  body body_ = body::file;
  bool told_translated_ = false;
  bool ported_ = false;  ///< the file has Heddle's own twait, which ordinary functions use, too
  const std::vector<scanned_include>& includes_;
  std::size_t next_include_ = 0;
  std::vector<sized_array> arrays_;
  std::unordered_set<std::string> thread_locals_;
  bool thread_local_head_ = false;  ///< the name of a thread_local variable is next
};

}  // namespace heddle::tame
