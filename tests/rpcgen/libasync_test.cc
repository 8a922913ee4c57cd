// SPDX-License-Identifier: MIT
// The C++ in the style of libasync. That it works is tested by tests/tame/libasync/rpc.T.
#include "rpcgen/syntax.hh"
#include "source/source_file.hh"
#include "support/test.hh"
#include "support/tree.hh"

namespace heddle::test {
namespace {

/// The first diagnostic as `line:column: message`, or the C++.
std::string compiled_for_libasync(std::string text) {
  const source::source_file file("a.x", std::move(text));
  source::diagnostics found;
  const rpcgen::specification parsed = rpcgen::parse(file, found);
  if (!found.has_errors()) rpcgen::check_libasync(parsed, found);
  if (!found.has_errors()) return rpcgen::to_libasync(parsed, "a.x");
  const source::diagnostic& d = found.all().front();
  const source::position at = file.position_of(d.at.begin);
  return std::to_string(at.line) + ":" + std::to_string(at.column) + ": " + d.message;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

HEDDLE_TEST(rpcgen_libasync, "the header of the bank is the golden file") {
  // HEDDLE_GOLDEN=1 writes the file anew.
  const auto text = source::read_text(test::source_dir() + "/tests/tame/libasync/bank_prot.x");
  ASSERT_TRUE(text.has_value());
  const std::string made = compiled_for_libasync(*text);
  const std::string golden = test::source_dir() + "/tests/rpcgen/golden/bank_prot.h.txt";
  if (std::getenv("HEDDLE_GOLDEN") != nullptr) {
    ASSERT_TRUE(source::write_text(golden, made).has_value());
  }
  EXPECT_EQ(source::read_text(golden).value_or(""), made);
}

HEDDLE_TEST(rpcgen_libasync, "names of procedures must differ in the whole file") {
  EXPECT_EQ(compiled_for_libasync("program P {\n"
                                  "  version V { void F(void) = 0; } = 1;\n"
                                  "  version W { void F(void) = 0; } = 2;\n"
                                  "} = 7;"),
            "3:20: `F` is the name of a procedure already");
}

HEDDLE_TEST(rpcgen_libasync, "a list of bool is refused") {
  EXPECT_EQ(compiled_for_libasync("struct a { bool b<>; };"),
            "1:17: with --libasync there are no lists of bool");
}

HEDDLE_TEST(rpcgen_libasync, "functions are in the program's namespace, or else in RPC") {
  const std::string program = "program P { version V { int F(int) = 3; } = 2; } = 7;";
  const std::string made = compiled_for_libasync(program);
  EXPECT_TRUE(contains(made, "namespace RPC {\nnamespace p_2 {\ninline callbase* f("));
  EXPECT_TRUE(contains(made, "inline constexpr rpc_program p_2{P, V, table_of_p_2, 1, \"p_2\"};"));
  const std::string named = compiled_for_libasync("namespace a { " + program + " }");
  EXPECT_TRUE(contains(named, "namespace a {\nnamespace p_2 {\ninline callbase* f("));
}

HEDDLE_TEST(rpcgen_libasync, "types have the names of libasync") {
  const std::pair<const char*, const char*> types[] = {
      {"string a<9>", "rpc_str<9> a{}"},
      {"string a<>", "rpc_str<RPC_INFINITY> a{}"},
      {"opaque a<>", "rpc_bytes<RPC_INFINITY> a{}"},
      {"opaque a[4]", "rpc_opaque<4> a{}"},
      {"int a<3>", "rpc_vec<int32_t, 3> a{}"},
      {"int a[3]", "std::array<int32_t, 3> a{}"},
      {"hyper *a", "rpc_ptr<int64_t> a{}"},
      {"unsigned a", "u_int32_t a{}"},
      {"quadruple a", "rpc_opaque<16> a{}"},
  };
  for (const auto& [type, text] : types)
    EXPECT_TRUE(contains(compiled_for_libasync("struct s { " + std::string(type) + "; };"), text))
        << type;
}

}  // namespace
}  // namespace heddle::test
