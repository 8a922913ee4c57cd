// SPDX-License-Identifier: MIT
// The parser: one function for each rule of the grammar in docs/reference/draft.md.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "draft/parser.hh"

namespace heddle::draft {

/// Leaves a statement or an item after its error was reported.
struct recovery {};

class parser {
 public:
  parser(const source::source_file& file, const lexed& in, source::diagnostics& report)
      : file_(file), tokens_(in.tokens), report_(report) {}

  file_tree run();

 private:
  // Tokens.
  [[nodiscard]] const token& now() const noexcept { return tokens_[at_]; }
  [[nodiscard]] const token& ahead(std::size_t n = 1) const noexcept {
    return tokens_[std::min(at_ + n, tokens_.size() - 1)];
  }
  [[nodiscard]] bool at_end() const noexcept { return now().kind == token_kind::end; }
  [[nodiscard]] bool is(word w) const noexcept { return now().what == w; }
  [[nodiscard]] bool is_name() const noexcept { return now().kind == token_kind::name; }
  [[nodiscard]] bool is_name(std::string_view text) const noexcept {
    return is_name() && text_of(now()) == text;
  }
  [[nodiscard]] std::string_view text_of(const token& t) const noexcept {
    return file_.text().substr(t.begin, t.end - t.begin);
  }
  [[nodiscard]] span span_of(const token& t) const noexcept { return {&file_, t.begin, t.end}; }
  [[nodiscard]] span last_span() const noexcept { return span_of(tokens_[at_ == 0 ? 0 : at_ - 1]); }
  const token& take() noexcept;
  bool accept(word w) noexcept;
  void skip_lines() noexcept;

  [[nodiscard]] std::string shown(const token& t) const;
  [[noreturn]] void fail(const std::string& message, const std::string& hint = {});
  void expect(word w, const char* where);
  std::string_view expect_name(const char* what);
  void end_of_line(const char* where);

  /// Skips tokens to the end of this line, or to the brace that closes the block around it.
  void resynchronize() noexcept;

  struct nested {
    explicit nested(parser& p) : owner(p) {
      if (++owner.nesting_ <= nesting_max) return;
      --owner.nesting_;
      if (!owner.told_of_nesting_) {
        owner.told_of_nesting_ = true;
        owner.report_.error("D0007", owner.span_of(owner.now()), "this is nested too deeply").hint =
            "put the inner part in a function of its own";
      }
      throw recovery{};
    }
    nested(const nested&) = delete;
    ~nested() { --owner.nesting_; }
    parser& owner;
  };

  // Items.
  void parse_item(file_tree& tree);

  /// A declaration of this kind: the keyword, then the name.
  template <class Item>
  Item named(item_head head, const char* what) {
    take();
    head.name_at = span_of(now());
    head.name = expect_name(what);
    return {std::move(head)};
  }

  /// The declaration is a part of the file. A function is it before its body is read: one whose
  /// body has an error is still known to its callers.
  template <class Item>
  Item& keep(file_tree& tree, const token& first, Item x) {
    x.at = span_of(first).to(last_span());
    tree.items.push_back(std::make_unique<item>(item{{std::move(x)}}));
    return tree.items.back()->as<Item>();
  }

  void parse_module(file_tree& tree);

  std::string parse_path(const char* what, span& at);

  constant_item parse_constant(const item_head& head);

  record_item parse_record(const item_head& head);

  enum_item parse_enum(const item_head& head);

  template <class Field, class Rest>
  void parse_fields(std::vector<Field>& fields, Rest&& rest) {
    expect(word::s_lbrace, "before the list");
    skip_lines();
    while (!is(word::s_rbrace)) {
      Field f{};
      f.at = span_of(now());
      f.name = expect_name("a name");
      rest(f);
      fields.push_back(std::move(f));
      if (is(word::s_rbrace)) break;
      if (!accept(word::s_comma) && now().kind != token_kind::newline)
        fail("expected ',' or a new line, found " + shown(now()));
      skip_lines();
    }
    expect(word::s_rbrace, "at the end of the list");
  }

  void parse_extern(file_tree& tree);

  void parse_extern_item(file_tree& tree, const item_head& head);

  void parse_signature(function_item& x);

  type_expr parse_type();
  /// `fn() -> T!`, or nothing behind the brackets.
  void parse_action_type(type_expr& t);

  std::vector<type_expr> parse_type_arguments();

  /// `>` may have been read as a part of `>>` or `>=`.
  void close_angle();

  // Statements.

  /// Once: the blocks around this one have no end either.
  void report_end(span opened);

  block parse_block();

  stmt_ptr parse_stmt();

  /// A word and a block.
  template <class Kind>
  stmt_ptr parse_plain() {
    const span at = span_of(take());
    return make_stmt(at, Kind{parse_block()});
  }

  stmt_ptr parse_let();

  condition parse_condition();

  stmt_ptr parse_if();

  stmt_ptr parse_for();

  block parse_arm_body();

  template <class Arm>
  void parse_arms(const char* what, Arm&& arm) {
    const span opened = span_of(now());
    expect(word::s_lbrace, what);
    skip_lines();
    while (!is(word::s_rbrace)) {
      if (at_end()) {
        report_end(opened);
        throw recovery{};
      }
      const std::size_t before = at_;
      const std::uint32_t nesting = nesting_;
      try {
        arm();
        end_of_line("after this case");
      } catch (recovery) {
        nesting_ = nesting;
        resynchronize();
        if (at_ == before && !is(word::s_rbrace)) take();
      }
      skip_lines();
    }
    take();
  }

  stmt_ptr parse_match();

  stmt_ptr parse_any();

  [[nodiscard]] bool at_end_of_expression() const noexcept;

  stmt_ptr parse_jump();

  stmt_ptr parse_simple();

  // Expressions.
  void join(expr& e);
  /// The expression that ends here, around its parts.
  expr_ptr joined(span first, expr::kinds how);

  expr_ptr parse_expr();

  expr_ptr parse_range();

  static int level_of(word w) noexcept;

  expr_ptr parse_or();

  expr_ptr parse_binary(int level);

  expr_ptr parse_unary();

  expr_ptr parse_postfix();

  expr_ptr parse_atom();
  expr_ptr parse_action();

  const source::source_file& file_;
  const std::vector<token>& tokens_;
  source::diagnostics& report_;
  std::size_t at_ = 0;
  std::size_t half_ = ~std::size_t{0};  // a >> of which one > was used
  std::uint32_t nesting_ = 0;
  std::uint32_t deepest_ = 0;  // depth of the expressions of the handler around
  bool told_of_nesting_ = false;
  bool told_of_end_ = false;
};

}  // namespace heddle::draft
