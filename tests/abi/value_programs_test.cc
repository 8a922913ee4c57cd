// SPDX-License-Identifier: MIT
// Random programs about values (value_program.hh), and a table of all operators inside of each
// other, compiled by the C back end and by --emit cc, print what the interpreter prints.
// A compiler takes long to start, so one seed of for_seeds makes one module of many programs. A
// program that differs is named by its own seed and made small.
#include <cstdlib>

#include "abi/cc_build.hh"
#include "abi/operator_table.hh"
#include "abi/shrink_program.hh"
#include "abi/value_program.hh"
#include "support/draft/interpret.hh"
#include "support/seeds.hh"

using namespace heddle;
namespace fs = std::filesystem;

namespace {

constexpr const char* run_values = "HEDDLE_DRIVER=sim HEDDLE_WORKERS=1 timeout 60 ";

draft::compiled compile_values(const std::string& text, draft::stage until) {
  draft::compile_options options;
  options.emit.lines = false;
  options.front.read = [&](const std::string&) -> std::expected<std::string, std::string> {
    return text;
  };
  return draft::compile("values.draft", until, options);
}

/// Compiles C with the warnings of our own code.
struct c_builder {
  explicit c_builder(std::string cc = HEDDLE_C_COMPILER) : compiler(std::move(cc)) {}
  std::string compiler;
  test::scratch folder{"values-c"};

  [[nodiscard]] std::string program() const { return folder.path() / "program"; }
  [[nodiscard]] std::string build(const std::string& text, const std::string& flags) const {
    const std::string c = folder.path() / "program.c";
    if (!source::write_text(c, text)) return "cannot write " + c;
    const test::outcome made =
        test::run_command(compiler + " -std=c11 " + flags + " " HEDDLE_C_FLAGS " -I" +
                          test::source_dir() + "/include " + c + " -o " + program() + " " +
                          test::build_dir() + "/lib/libheddle.a " HEDDLE_LINK_LIBRARIES " 2>&1");
    return made.code == 0 ? std::string() : compiler + ":\n" + made.out.substr(0, 4000);
  }
};
constexpr const char* strict_c = "-O0 -Wall -Wextra -Wpedantic -Wconversion -Werror";

/// What a program that stands alone prints, or how it fails to.
template <class Builder>
std::string output_alone(const Builder& with, draft::stage stage, const std::string& text,
                         const char* flags) {
  const draft::compiled made = compile_values(text, stage);
  if (!made.good()) return "rejected";
  if (const std::string why = with.build(made.text, flags); !why.empty()) return "not built " + why;
  return test::run_command(run_values + with.program() + " 2>/dev/null").out;
}

template <class Builder>
void tell_value_program(const Builder& with, draft::stage stage, std::uint64_t seed,
                        const char* flags) {
  const auto differs = [&](const std::string& text) {
    const draft::compiled made = compile_values(text, draft::stage::check);
    if (!made.good()) return false;
    const draft::interpreted wanted = draft::interpret(*made.made);
    return wanted.supported && output_alone(with, stage, text, flags) != wanted.out;
  };
  const std::string whole = test::value_program(seed).alone();
  const std::string small =
      differs(whole) ? test::program_shrinker(whole, differs, 150).run() : whole;
  const draft::compiled made = compile_values(small, draft::stage::check);
  ADD_FAILURE() << "seed " << seed << "\n"
                << small << "prints\n"
                << output_alone(with, stage, small, flags) << "and should print\n"
                << (made.good() ? draft::interpret(*made.made).out : source::print(made.report));
}

/// A batch of programs in one module; false after a difference.
template <class Builder>
bool compare_values(const Builder& with, draft::stage stage, std::uint64_t first,
                    std::uint64_t count, const char* flags) {
  std::string text = test::value_program::head(), calls;
  std::vector<std::pair<std::uint64_t, std::string>> wanted;
  for (std::uint64_t seed = first; seed != first + count; ++seed) {
    test::value_program alone(seed);
    const std::string program = alone.alone();
    const draft::compiled made = compile_values(program, draft::stage::check);
    // Two constants that do not fit are refused, and rightly so.
    if (!made.good() && made.report.all()[0].code == "D1102") continue;
    if (!made.good()) {
      ADD_FAILURE() << "seed " << seed << "\n" << source::print(made.report) << program;
      return false;
    }
    draft::interpreted result = draft::interpret(*made.made);
    if (!result.supported) continue;
    wanted.emplace_back(seed, std::move(result.out));
    test::value_program again(seed);
    text += again.make();
    calls += again.call();
  }
  EXPECT_GE(wanted.size(), count / 2);
  text += "main() -> ! {\n" + calls + "}\n";
  const draft::compiled made = compile_values(text, stage);
  EXPECT_TRUE(made.good()) << source::print(made.report);
  if (!made.good()) return false;
  const std::string why = with.build(made.text, flags);
  EXPECT_EQ(why, "") << "seeds from " << first;
  if (!why.empty()) return false;
  const std::string got = test::run_command(run_values + with.program() + " 2>/dev/null").out;
  std::size_t at = 0;
  for (const auto& [seed, out] : wanted) {
    if (got.compare(at, out.size(), out) != 0) {
      tell_value_program(with, stage, seed, flags);
      return false;
    }
    at += out.size();
  }
  EXPECT_EQ(at, got.size());
  return at == got.size();
}

/// Modules of `in_one` programs each.
template <class Builder>
void compare_all_values(const Builder& with, draft::stage stage, std::uint64_t modules,
                        std::uint64_t in_one, const char* flags) {
  test::for_seeds(modules, [&](std::uint64_t seed) {
    EXPECT_TRUE(compare_values(with, stage, (seed - 1) * in_one + 1, in_one, flags));
  });
}

/// Sanitizers, and compilers that are slower, get fewer.
std::uint64_t value_share(std::uint64_t count) {
  return std::string(HEDDLE_C_FLAGS).empty() ? count : count / 10;
}

/// Clang takes a third of GCC's time. Under a sanitizer the compiler that built the library.
std::string quick_c() {
  const bool plain = std::string(HEDDLE_C_FLAGS).empty();
  return plain && test::run_command("command -v clang-19").code == 0 ? "clang-19"
                                                                     : HEDDLE_C_COMPILER;
}

void compare_operators(const std::string& type) {
  SCOPED_TRACE(type);
  const std::string text = test::operator_table(type).make();
  const draft::compiled checked = compile_values(text, draft::stage::check);
  ASSERT_TRUE(checked.good()) << source::print(checked.report);
  const draft::interpreted wanted = draft::interpret(*checked.made);
  ASSERT_TRUE(wanted.supported) << wanted.complaint;
  ASSERT_EQ(wanted.complaint, "");
  const c_builder c(quick_c());
  EXPECT_EQ(output_alone(c, draft::stage::c, text, strict_c), wanted.out);
  const test::cc_builder cc(test::cc_compilers().front(), "-O0 -Wall -Wextra -Werror");
  EXPECT_EQ(output_alone(cc, draft::stage::cc, text, ""), wanted.out);
}

}  // namespace

HEDDLE_TEST(draft_values, "random programs do in C what the interpreter does") {
  compare_all_values(c_builder(quick_c()), draft::stage::c, 8, 250, strict_c);
}

HEDDLE_TEST(draft_values, "random programs do in C of GCC what the interpreter does") {
  if (quick_c() == HEDDLE_C_COMPILER || test::run_command("command -v gcc").code != 0)
    GTEST_SKIP() << "there is one compiler of C";
  compare_all_values(c_builder("gcc"), draft::stage::c, 1, 100, strict_c);
}

HEDDLE_TEST(draft_values, "random programs do in C++ what the interpreter does") {
  const test::cc_builder with(test::cc_compilers().front(), "-O0 -w");
  compare_all_values(with, draft::stage::cc, 1, value_share(40), "");
}

HEDDLE_TEST(draft_values, "each operator inside of each other keeps its operands") {
  for (const char* type : {"int", "u8", "i16"}) compare_operators(type);
}
