// SPDX-License-Identifier: MIT
// `--emit cc`: programs compiled as C++ on heddle/draft.hh do what the C back end and the
// interpreter make of them, with both compilers and all warnings; names never clash; what cannot be
// written is refused. Random programs are few, because C++ compiles slowly.
#include <algorithm>
#include <cstdlib>

#include "abi/cc_build.hh"
#include "abi/random_program.hh"
#include "support/draft/interpret.hh"
#include "support/seeds.hh"

using namespace heddle;
namespace fs = std::filesystem;

namespace {

constexpr const char* cc_warnings = "-O0 -Wall -Wextra -Werror";

/// What the lines "// prints: ..." of a program say.
std::string said_by(const std::string& text, const std::string& mark) {
  std::string out;
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    const std::size_t begin = at + mark.size();
    const std::size_t end = text.find('\n', begin);
    out += text.substr(begin, end - begin) + "\n";
  }
  return out;
}

std::vector<fs::path> drafts_in(const std::string& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(test::source_dir() + folder))
    if (entry.path().extension() == ".draft") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

draft::compiled cc_of(const std::string& text) {
  draft::compile_options options;
  options.front.read = [text](const std::string&) -> std::expected<std::string, std::string> {
    return text;
  };
  return draft::compile("random.draft", draft::stage::cc, options);
}

void check_as_cc(const fs::path& file, const test::cc_builder& with) {
  const std::string text = source::read_text(file).value_or("");
  const std::string prints = said_by(text, "// prints: ");
  const std::string code = said_by(text, "// exit: ");
  ASSERT_EQ(with.build(test::cc_of_file(file), "-I" + file.parent_path().string()), "");
  for (const char* workers : {"1", "4"}) {
    const std::string errors = with.program() + ".errors";
    const test::outcome r = test::run_command("HEDDLE_WORKERS=" + std::string(workers) +
                                              " timeout 60 " + with.program() + " 2>" + errors);
    EXPECT_EQ(r.out, prints) << with.name() << ", workers " << workers << "\n"
                             << source::read_text(errors).value_or("");
    EXPECT_EQ(r.code, code.empty() ? 0 : std::stoi(code)) << with.name() << ", workers " << workers;
  }
}

/// Each program of the tests runs, each example compiles.
void check_all_as_cc(const std::string& compiler) {
  const test::cc_builder with(compiler, cc_warnings);
  for (const fs::path& file : drafts_in("/tests/abi/programs")) {
    SCOPED_TRACE(file.filename());
    check_as_cc(file, with);
  }
  for (const fs::path& file : drafts_in("/examples/draft")) {
    SCOPED_TRACE(file.filename());
    EXPECT_EQ(with.check(test::cc_of_file(file), "-I" + file.parent_path().string()), "");
  }
}

void check_random_as_cc(std::uint64_t seed, const test::cc_builder& with) {
  const std::string text = test::random_program(seed).make();
  const draft::compiled made = cc_of(text);
  if (!made.good() && made.report.all()[0].code == "D1102") return;
  ASSERT_TRUE(made.good()) << source::print(made.report) << text;
  const draft::interpreted wanted = draft::interpret(*made.made);
  if (!wanted.supported) return;
  ASSERT_EQ(with.build(made.text), "") << made.text;
  const test::outcome r = test::run_command("HEDDLE_DRIVER=sim HEDDLE_WORKERS=1 timeout 20 " +
                                            with.program() + " 2>/dev/null");
  EXPECT_EQ(r.out, wanted.out) << text << made.text;
  EXPECT_EQ(r.code, wanted.code) << text << made.text;
}

}  // namespace

HEDDLE_TEST(draft_cc, "each program prints in C++ what it says, with the first compiler") {
  check_all_as_cc(test::cc_compilers().front());
}

HEDDLE_TEST(draft_cc, "each program prints in C++ what it says, with the second compiler") {
  if (test::cc_compilers().size() == 1) GTEST_SKIP() << "there is one compiler of C++";
  check_all_as_cc(test::cc_compilers().back());
}

HEDDLE_TEST(draft_cc, "random programs do in C++ what the interpreter does") {
  const test::cc_builder with(test::cc_compilers().front(), "-O0 -w");
  test::for_seeds(6, [&](std::uint64_t seed) { check_random_as_cc(seed, with); });
}

HEDDLE_TEST(draft_cc, "a dump lists the lines of the C++ where its threads wait") {
  const std::string file = test::source_dir() + "/tests/abi/programs/dump.draft";
  const test::cc_builder with(test::cc_compilers().front(), cc_warnings);
  const std::string text = test::cc_of_file(file);
  ASSERT_EQ(with.build(text, "-g -I" + fs::path(file).parent_path().string()), "");
  const test::outcome r =
      test::run_command("HEDDLE_WORKERS=1 timeout 60 " + with.program() + " 2>&1");
  EXPECT_EQ(r.code, 0) << r.out;
  const auto line_of = [&](const std::string& what) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(text.find(what));
    return "program.cc:" + std::to_string(1 + std::count(text.begin(), end, '\n')) + " in ";
  };
  for (const std::string what :
       {"co_await draft::caught(ch.receive())", "co_await draft::try_any("})
    EXPECT_NE(r.out.find(line_of(what)), std::string::npos) << line_of(what) << r.out;
}

HEDDLE_TEST(draft_cc, "an error that a job's holder cannot see is reported with its name") {
  const draft::compiled made = cc_of(
      "module t\nuse log\nuse time\n"
      "fn fails(n: int) -> int! {\n    try time.pause()\n    if n > 0 { fail error.odd }\n"
      "    return n\n}\n"
      "main() -> ! {\n    scope {\n        let j = spawn fails(1)\n"
      "        j.join() or e { log.print(\"joined \", e) }\n        spawn fails(2)\n"
      "    }\n    spawn fails(3)\n    try time.sleep(10ms)\n    fail error.last\n}\n");
  ASSERT_TRUE(made.good()) << source::print(made.report);
  const test::cc_builder with(test::cc_compilers().front(), cc_warnings);
  ASSERT_EQ(with.build(made.text), "") << made.text;
  const test::outcome r =
      test::run_command("HEDDLE_WORKERS=1 HEDDLE_DRIVER=sim " + with.program() + " 2>&1");
  EXPECT_EQ(r.code, 1);
  EXPECT_TRUE(r.out.starts_with("joined odd\n")) << r.out;
  const std::string thread = "heddle: a thread ended: error.odd (after program.cc:";
  std::size_t reports = 0;
  for (std::size_t at = r.out.find(thread); at != std::string::npos;
       at = r.out.find(thread, at + 1))
    ++reports;
  EXPECT_EQ(reports, 2U) << r.out;
  EXPECT_TRUE(r.out.ends_with("error: main ended with error.last\n")) << r.out;
}

HEDDLE_TEST(draft_cc, "names that it makes up differ from those of the program") {
  // Each of these is a name that it gives to something, or that C++ has.
  const std::string text =
      "module random\nuse time\nuse log\n"
      "record draft { got: int, got_2: int, std: int, namespace: int }\n"
      "fn heddle(n: int) -> int! {\n    if n > 9 { fail error.large }\n    return n\n}\n"
      "fn start(n: int) -> int { return n }\n"
      "fn later(n: int) -> int! {\n    try time.pause()\n    return n\n}\n"
      "main() -> ! {\n"
      "    let got = draft(got: 1, got_2: 2, std: 3, namespace: 4)\n"
      "    var done = 0\n    var ready = 0\n    let body = 5\n    let jobs = 6\n"
      "    let limit = 7\n    let class = 8\n    let turn = 9\n    let first = 10\n"
      "    done += heddle(body) or start(jobs)\n"
      "    heddle(first) or at_end { log.print(at_end) }\n"
      "    within 1s { scope { ready = try later(limit + class + turn) } }\n"
      "    log.print(done, \" \", ready, \" \", got.got + got.got_2 + got.std + got.namespace)\n"
      "}\n";
  const draft::compiled made = cc_of(text);
  ASSERT_TRUE(made.good()) << source::print(made.report);
  const draft::interpreted wanted = draft::interpret(*made.made);
  ASSERT_TRUE(wanted.supported);
  EXPECT_EQ(wanted.out, "large\n5 24 10\n");
  for (const std::string& compiler : test::cc_compilers()) {
    const test::cc_builder with(compiler, cc_warnings);
    ASSERT_EQ(with.build(made.text), "") << made.text;
    EXPECT_EQ(test::run_command(with.program()).out, wanted.out) << made.text;
  }
}

HEDDLE_TEST(draft_cc, "it reads as a person would write it") {
  const draft::compiled made = cc_of(
      "// Says how long.\nmodule t\nuse time\nuse log\n\n"
      "// Waits a little.\nfn nap(n: int) -> int! {\n    try time.sleep(1ms * n)  // here\n"
      "    return n * 2\n}\n\nmain() -> ! {\n    var sum = 0\n"
      "    for i in 1..3 { sum += try nap(i) }\n    let last = nap(9) or e {\n"
      "        log.print(e)\n        return\n    }\n\n    log.print(\"sum \", sum + last)\n}\n");
  ASSERT_TRUE(made.good()) << source::print(made.report);
  const std::size_t begin = made.text.find("namespace t {");
  EXPECT_TRUE(made.text.starts_with("// Says how long.\n// Made from random.draft"));
  EXPECT_EQ(made.text.substr(begin),
            "namespace t {\n\n"
            "// Waits a little.\n"
            "heddle::task<std::int64_t> nap(std::int64_t n) {\n"
            "  co_await draft::sleep(draft::mul(1ms, n));  // here\n"
            "  co_return draft::mul(n, 2);\n"
            "}\n\n"
            "heddle::task<> start() {\n"
            "  std::int64_t sum = 0;\n"
            "  for (std::int64_t i = 1; i < 3; ++i) {\n"
            "    sum = draft::add(sum, co_await nap(i));\n"
            "  }\n"
            "  auto last = co_await draft::caught(nap(9));\n"
            "  if (!last) {\n"
            "    draft::print(last.error());\n"
            "    co_return;\n"
            "  }\n\n"
            "  draft::print(\"sum \", draft::add(sum, *last));\n"
            "}\n\n"
            "}  // namespace t\n\n"
            "int main(int argc, char** argv) {\n"
            "  return draft::run(argc, argv, t::start);\n"
            "}\n");
}

HEDDLE_TEST(draft_cc, "what it does not write is an error at its line") {
  const auto complaint = [](const std::string& items, const std::string& body) {
    const draft::compiled made =
        cc_of("module t\nuse log\n" + items + "\nmain() -> ! {\n" + body + "\n}\n");
    std::string out;
    for (const source::diagnostic& d : made.report.all())
      out += d.code + " " + (d.at ? std::to_string(d.at.file->line_of(d.at.begin)) : "") + ": " +
             d.message + "\n";
    return out;
  };
  EXPECT_EQ(complaint("", "log.print(1)"), "");
  EXPECT_EQ(complaint("extern \"c.h\" {\n    fn more(var d: duration)\n}",
                      "var d = 1s\nmore(d)\nlog.print(d)"),
            "D0009 4: --emit cc does not write durations that C changes\n");
  EXPECT_EQ(complaint("fn adds(var n: int) { n += 1 }",
                      "var n = 1\nscope { spawn adds(n) }\nlog.print(n)"),
            "D0009 6: --emit cc does not write a spawned function that does not wait, and "
            "borrows\n");
  const draft::compiled made = cc_of("module t\nfn f() {}\n");
  ASSERT_FALSE(made.good());
  EXPECT_EQ(made.report.all()[0].message, "--emit cc wants a module with main");
}
