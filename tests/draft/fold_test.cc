// SPDX-License-Identifier: MIT
// The table of constant arithmetic, on all 8-bit operands; and the three miscompiles of Angiuli and
// Sullivan.
#include "draft/fold.hh"

#include <limits>

#include "compile_text.hh"
#include "support/test.hh"

using namespace heddle::draft;
using heddle::test::compile_text;

namespace {

/// What C computes in wider numbers, or nothing where that does not fit.
template <class T>
void check_all(const type& t) {
  using L = std::numeric_limits<T>;
  for (int a = L::min(); a <= L::max(); ++a) {
    for (int b = L::min(); b <= L::max(); ++b) {
      const auto expect = [&](word op, std::optional<int> right) {
        const auto got = fold_binary(op, t, a, b);
        ASSERT_EQ(got.has_value(), right.has_value()) << int(op) << " " << a << " " << b;
        if (right) ASSERT_EQ(static_cast<int>(*got), *right) << int(op) << " " << a << " " << b;
      };
      const auto if_fits = [](int n) {
        return n >= L::min() && n <= L::max() ? std::optional(n) : std::nullopt;
      };
      expect(word::s_add, if_fits(a + b));
      expect(word::s_sub, if_fits(a - b));
      expect(word::s_mul, if_fits(a * b));
      expect(word::s_add_wrap, static_cast<T>(a + b));
      expect(word::s_sub_wrap, static_cast<T>(a - b));
      expect(word::s_mul_wrap, static_cast<T>(a * b));
      expect(word::s_div, b == 0 ? std::nullopt : if_fits(a / b));
      expect(word::s_mod, b == 0 || !if_fits(a / b) ? std::nullopt : if_fits(a % b));
      expect(word::s_and, static_cast<T>(a & b));
      expect(word::s_pipe, static_cast<T>(a | b));
      expect(word::s_xor, static_cast<T>(a ^ b));
      expect(word::s_shl, b < 0 || b > 7
                              ? std::nullopt
                              : std::optional<int>(static_cast<T>(static_cast<unsigned>(a) << b)));
      expect(word::s_shr, b < 0 || b > 7 ? std::nullopt : std::optional<int>(a >> b));
      expect(word::s_eq, a == b);
      expect(word::s_ne, a != b);
      expect(word::s_lt, a < b);
      expect(word::s_gt, a > b);
      expect(word::s_le, a <= b);
      expect(word::s_ge, a >= b);
    }
    const auto minus = fold_unary(word::s_sub, t, a);
    ASSERT_EQ(minus.has_value(), -a >= L::min() && -a <= L::max());
    ASSERT_EQ(static_cast<int>(*fold_unary(word::s_tilde, t, a)), static_cast<T>(~a));
  }
}

std::string cfg_of(const std::string& text) {
  const auto out = compile_text(text, stage::cfg);
  EXPECT_TRUE(out.good()) << heddle::source::print(out.report);
  return out.text;
}

}  // namespace

HEDDLE_TEST(draft_fold, "the table computes what C does, on all 8-bit operands") {
  type_table types;
  check_all<std::int8_t>(*types.basic(kind::i8));
  check_all<std::uint8_t>(*types.basic(kind::u8));
}

HEDDLE_TEST(draft_fold, "a value that a call gives kills the constant before it") {
  const std::string cfg = cfg_of(
      "extern \"a.h\" { fn g() -> i32 }\nfn f() -> i32 {\n var x: i32 = 1\n if g() == 0 { x = g() "
      "}\n return x\n}");
  EXPECT_EQ(cfg.find("result = 1"), std::string::npos) << cfg;
  EXPECT_NE(cfg.find("x = g()"), std::string::npos) << cfg;
}

HEDDLE_TEST(draft_fold, "false || e and e || false are e; true && e is e") {
  for (const char* e : {"false || b", "b || false", "true && b", "b && true"}) {
    const std::string cfg = cfg_of("fn f(b: bool) -> bool { return " + std::string(e) + " }");
    EXPECT_NE(cfg.find("b"), std::string::npos) << cfg;
    EXPECT_EQ(cfg.find("result = true"), std::string::npos) << e << cfg;
    EXPECT_EQ(cfg.find("result = false"), std::string::npos) << e << cfg;
  }
}

HEDDLE_TEST(draft_fold, "a foreign call is made each time") {
  const std::string cfg =
      cfg_of("extern \"a.h\" { fn g() -> i32 }\nfn f() -> bool { return g() == g() }");
  const std::size_t first = cfg.find("= g()");
  ASSERT_NE(first, std::string::npos) << cfg;
  EXPECT_NE(cfg.find("= g()", first + 1), std::string::npos) << cfg;
}

HEDDLE_TEST(draft_fold, "a branch on a known value is decided, and its other way is gone") {
  const std::string cfg = cfg_of(
      "use log\nfn f() -> int {\n let a = 2\n if a > 3 { log.print(\"never\") }\n return a * 4\n}");
  EXPECT_EQ(cfg.find("never"), std::string::npos) << cfg;
  EXPECT_NE(cfg.find("result = 8"), std::string::npos) << cfg;
}
