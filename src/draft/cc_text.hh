// SPDX-License-Identifier: MIT
// Expressions of C++ as text, with brackets where they are needed; members, durations, words.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace heddle::draft {

/// How an expression binds; the later ones bind less.
enum class cc_rank : std::uint8_t {
  primary,     ///< a name, a literal, a call, a member
  prefix,      ///< !x, *x, -1, co_await x
  infix,       ///< a == b, a & b
  both,        ///< a && b
  either,      ///< a || b
  assignment,  ///< a = b
};

/// An expression, and how it binds. Its text is only given out for a place that the caller names,
/// so brackets cannot be forgotten, and no text is searched for operators.
class cc_expr {
 public:
  cc_expr() = default;
  explicit cc_expr(std::string text, cc_rank rank = cc_rank::primary)
      : text_(std::move(text)), rank_(rank) {}

  /// Where nothing else binds: inside of brackets, an argument, behind `=` or `return`.
  [[nodiscard]] const std::string& alone() const noexcept { return text_; }
  /// Beside an operator that binds like `side`, or before one.
  [[nodiscard]] std::string beside(cc_rank side = cc_rank::prefix) const {
    return rank_ > side ? "(" + text_ + ")" : text_;
  }
  /// Before `.name` or `(`.
  [[nodiscard]] std::string primary() const { return beside(cc_rank::primary); }
  [[nodiscard]] cc_rank rank() const noexcept { return rank_; }
  [[nodiscard]] bool empty() const noexcept { return text_.empty(); }

 private:
  std::string text_;
  cc_rank rank_ = cc_rank::primary;
};

/// `!`, `~`, `*`, `&` or `co_await ` before it.
[[nodiscard]] cc_expr cc_prefix(const std::string& op, const cc_expr& e);
/// a op b. Operators of one kind are not mixed without brackets.
[[nodiscard]] cc_expr cc_infix(const cc_expr& a, const std::string& op, const cc_expr& b);
/// fn(arguments...).
[[nodiscard]] cc_expr cc_call(const std::string& fn, const std::vector<cc_expr>& arguments,
                              std::size_t first = 0);
/// e.name; p->name where e is `*p`.
[[nodiscard]] cc_expr cc_member(const cc_expr& e, const std::string& name);
/// Whether the expression has a co_await.
[[nodiscard]] bool cc_waits(const cc_expr& e);
/// Whether s[at] opens a bracket that the last character closes.
[[nodiscard]] bool cc_is_one_call(const std::string& s, std::size_t at);
/// A literal.
[[nodiscard]] std::string cc_quoted(const std::string& s);
/// 50ms, 10min.
[[nodiscard]] cc_expr cc_duration(std::int64_t ns);
/// Whether C++ or its library has a meaning for the name already.
[[nodiscard]] bool is_cc_word(const std::string& name);
/// Whether the C library declares it, so that no namespace can have the name.
[[nodiscard]] bool is_c_function(const std::string& name);

}  // namespace heddle::draft
