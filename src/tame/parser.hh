// SPDX-License-Identifier: MIT
// The shallow parser's state. Brackets are an immutable list of nodes, so that a conditional of the
// preprocessor saves and restores the state in constant time: each branch starts where `#if` was,
// and all of them must end alike. There is no recursion, so no input is too deep.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tame/analysis.hh"

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

/// The construct that the tokens since the last bracket or semicolon announce.
struct announced {
  enum class control : std::uint8_t {
    none,
    catch_,
    switch_,
    for_,
    while_,
    loop,  // `{` begins the body of one
    wait,
    vars,
    event,
    default_return,
  };
  enum class lambda_stage : std::uint8_t { none, intro, parameters };

  int head = -1;  ///< the tamed function whose body or semicolon is next
  bool head_named = false;
  bool head_assigned = false;
  int head_angles = 0;  ///< the open `<` of a `template <` in the head
  bool requires_expression = false;
  control next = control::none;
  int wait = -1;
  lambda_stage lambda = lambda_stage::none;
  bool lambda_arrow = false;
  int lambda_angles = 0;
  int lambda_keyword = -1;  ///< `tamed` behind a lambda's parameters
  bool class_head = false;
  bool class_bases = false;
  int class_angles = 0;
};

/// The function that code belongs to: the index of a tamed function, or one of these.
enum : int { ordinary_code = -1, lambda_code = -2, class_code = -3, default_code = -4 };

struct node {
  int parent = -1;
  int depth = 0;
  int brace = 0;  ///< the innermost `{` that is open, this one included; 0 where none is
  char bracket = '{';
  role what = role::plain;
  std::size_t open = 0;  ///< index of the token among those that count
  int function = ordinary_code;
  int enclosing = -1;      ///< the innermost tamed function around, also through lambdas
  int in_wait = -1;        ///< the innermost twait body of this function
  int catch_at = -1;       ///< the node of the catch handler around
  int expression_at = -1;  ///< the statement expression around
  int loop_at = -1;        ///< the node of the innermost loop of this function with a bracket
  std::size_t waits = 0;   ///< the waits that were found when this opened
  int made_in_loop = -1;   ///< in a loop: the first `e = make_event` outside of twait bodies
  bool in_switch = false;
  bool label_blocked = false;  ///< the innermost switch lies outside of a twait body
  int wait = -1;
  int names = -1;        ///< the last name declared in a twait body before this opened
  int before_loop = -2;  ///< the last name before the head of a loop in this; -2: none
  announced outer;       ///< the construct announced when this opened
  std::vector<std::uint32_t> commas;
};

struct parser_state {
  int top = 0;
  announced now;
  int previous = -1;   ///< the last token, by its index among those that count
  int statement = -1;  ///< the first token of this statement
  int names = -1;
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
  struct declared_name {
    int before = -1;
    range where;
    int wait = -1;  ///< the twait body in which it is declared; -1 for references and statics
    bool lasting = false;   ///< the name is a reference, or static
    bool constant = false;  ///< const or constexpr
    int block = 0;          ///< the depth of the bracket with which the name ends
  };
  /// T name[n] with a variable n: no array of a function that waits.
  struct sized_array {
    int function = -1;
    range name;
    range size;
    range declared;
  };

  // Tokens (parser.cc).
  [[nodiscard]] const token& at(std::size_t i) const noexcept { return *list_[i]; }
  [[nodiscard]] const token* previous() const noexcept {
    return state_.previous < 0 ? nullptr : list_[static_cast<std::size_t>(state_.previous)];
  }
  [[nodiscard]] const token* next(std::size_t i) const noexcept;
  [[nodiscard]] static bool is(const token* t, const char* p) noexcept {
    return t != nullptr && t->is(p);
  }
  [[nodiscard]] static bool is(const token* t, word w) noexcept { return t != nullptr && t->is(w); }
  [[nodiscard]] static range of(const token& t) noexcept { return {t.begin, t.end}; }
  [[nodiscard]] node& top() noexcept { return nodes_[static_cast<std::size_t>(state_.top)]; }
  [[nodiscard]] source::span place(range r) const noexcept { return {&file_, r.begin, r.end}; }
  [[nodiscard]] source::span place(const token& t) const noexcept { return place(of(t)); }

  void parse(const std::vector<const token*>& tokens, bool macro_body, int function);
  void collect();
  void step(std::size_t i);
  void step_identifier(std::size_t i);
  void step_punctuator(std::size_t i);
  void step_lambda(const token& t) noexcept;
  void step_class(const token& t) noexcept;
  void open(std::size_t i, char bracket, role what);
  void open_brace(std::size_t i);
  void open_paren(std::size_t i);
  void open_bracket(std::size_t i);
  void close(std::size_t i, char bracket);
  void closed(std::size_t i, const node& n);
  void end_of_tokens();
  /// Variables of a loop's head end with the loop.
  void end_loop_names() noexcept {
    if (top().before_loop == -2) return;
    state_.names = std::exchange(top().before_loop, -2);
  }

  // Words that lints look at (parse_lint.cc).
  void use_of_name(std::size_t i);
  void note_parameters(int f);
  void note_thread_local(std::size_t i);
  void begin_array(std::size_t i);
  void report_arrays(int f);
  void lint_lambda(std::size_t i, const node& n);
  void lint_life(std::size_t i);
  void end_loop(std::size_t i, const node& n);
  [[nodiscard]] const declared_name* declared(std::string_view name) const noexcept;

  // Functions (parse_function.cc).
  [[nodiscard]] bool begins_function(std::size_t i) const noexcept;
  void begin_head(std::size_t i, bool by_macro);
  void step_head(std::size_t i);
  void name_head(std::size_t i);
  void check_result(function& f, std::size_t first, std::size_t name);
  void begin_body(std::size_t i);
  void begin_lambda(std::size_t i);
  void read_parameters(function& f);
  void default_return_word(std::size_t i);
  void close_default_return(std::size_t i, const node& n);
  void report_result(const function& f);

  // Waits and variables (parse_wait.cc).
  void twait_word(std::size_t i);
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
  [[nodiscard]] int unify(int a, int b);
  [[nodiscard]] int resolve(int f) const noexcept;

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
  bool macro_body_ = false;
  bool unbalanced_ = false;  ///< the brackets of a macro's body do not match
  bool told_translated_ = false;
  bool ported_ = false;  ///< the file has Heddle's own twait, which ordinary functions use, too
  const std::vector<scanned_include>& includes_;
  std::size_t next_include_ = 0;
  std::vector<sized_array> arrays_;
  std::unordered_set<std::string> thread_locals_;
  bool thread_local_head_ = false;  ///< the name of a thread_local variable is next
};

}  // namespace heddle::tame
