// SPDX-License-Identifier: MIT
// Random programs: the compiled program, with passes and without, prints what the interpreter of
// the typed tree prints, and nothing is left in memory. A program that differs is named by its seed
// and made small (support/seeds.hh).
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "abi/random_program.hh"
#include "abi/shrink_program.hh"
#include "draft/tool.hh"
#include "support/draft/interpret.hh"
#include "support/seeds.hh"
#include "support/test.hh"
#include "support/tree.hh"

using namespace heddle;
namespace fs = std::filesystem;

namespace {

std::string output_of(const std::string& command) {
  std::string out;
  std::FILE* const p = ::popen(command.c_str(), "r");
  std::array<char, 4096> chunk{};
  while (const std::size_t n = std::fread(chunk.data(), 1, chunk.size(), p))
    out.append(chunk.data(), n);
  const int status = ::pclose(p);
  return out + "exit " + std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : 255) + "\n";
}

struct difference {
  std::string what;  ///< empty: the program does what it should, or cannot be compared
};

/// Compiles and runs one text with and without passes, and holds it against the interpreter.
difference compare(const std::string& text, const fs::path& folder) {
  draft::compile_options options;
  options.front.read = [&](const std::string& path) -> std::expected<std::string, std::string> {
    if (path == "random.draft") return text;
    return std::unexpected("no such file");
  };
  draft::interpreted wanted;
  for (const bool passes : {true, false}) {
    options.passes = {passes, passes, passes, passes, passes};
    const draft::compiled made = draft::compile("random.draft", draft::stage::c, options);
    // A constant expression may be too large: that is told, and rightly so.
    if (!made.good() && made.report.all()[0].code == "D1102") return {};
    if (!made.good()) return {"rejected: " + source::print(made.report)};
    if (passes) wanted = draft::interpret(*made.made);
    if (!wanted.supported) return {};
    const std::string c = folder / "random.c", program = folder / "random";
    if (!source::write_text(c, made.text)) return {"cannot write " + c};
    const std::string built =
        output_of(std::string(HEDDLE_C_COMPILER " -std=c11 -w ") + (passes ? "-O2 " : "-O0 ") +
                  HEDDLE_C_FLAGS + " -I" + test::source_dir() + "/include " + c + " -o " + program +
                  " " + test::build_dir() + "/lib/libheddle.a " HEDDLE_LINK_LIBRARIES " 2>&1");
    if (built != "exit 0\n") return {"the C does not compile: " + built};
    const fs::path errors = folder / "errors";
    const std::string got = output_of("HEDDLE_DRIVER=sim HEDDLE_WORKERS=1 timeout 20 " + program +
                                      " 2>" + errors.string());
    const std::string should = wanted.out + "exit " + std::to_string(wanted.code) + "\n";
    const std::string how = passes ? "with passes" : "without passes";
    if (got != should) return {how + " it prints\n" + got + "and should print\n" + should};
    if (source::read_text(errors).value_or("").find("leaked-memory") != std::string::npos)
      return {how + " it leaks"};
  }
  return {};
}

/// The first word says how it fails: a smaller program has to fail in the same way.
std::string first_words(const std::string& what) {
  return what.substr(0, what.find_first_of(":\n"));
}

}  // namespace

HEDDLE_TEST(draft_programs, "random ones do what the interpreter does") {
  const fs::path folder =
      fs::temp_directory_path() / ("heddle-draft-random-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  test::for_seeds(8, [&](std::uint64_t seed) {
    const std::string text = test::random_program(seed).make();
    const std::string failure = compare(text, folder).what;
    if (failure.empty()) return;
    const std::string small =
        test::program_shrinker(
            text,
            [&](const std::string& s) {
              return first_words(compare(s, folder).what) == first_words(failure);
            },
            200)
            .run();
    ADD_FAILURE() << compare(small, folder).what << "\n" << small;
  });
  fs::remove_all(folder);
}

HEDDLE_TEST(draft_programs, "a failing program is made small") {
  // It "fails" when it compiles and prints "dark".
  const auto prints_dark = [](const std::string& text) {
    draft::compile_options options;
    options.front.read = [&](const std::string&) -> std::expected<std::string, std::string> {
      return text;
    };
    const draft::compiled made = draft::compile("t.draft", draft::stage::check, options);
    return made.good() && draft::interpret(*made.made).out.find("dark") != std::string::npos;
  };
  const std::string text =
      "module t\nuse log\nuse time\n\nfn f(n: int) -> int {\n    return n + 1\n}\n\n"
      "main() -> ! {\n    var x = f(2)\n    log.print(x)\n    for _ in 0..3 {\n"
      "        x += 1\n        if x > 3 {\n            log.print(\"dark\")\n        }\n    }\n"
      "    within 1s {\n        try time.sleep(1ms)\n    }\n}\n";
  ASSERT_TRUE(prints_dark(text));
  EXPECT_EQ(test::program_shrinker(text, prints_dark).run(),
            "use log\nmain() -> ! {\n            log.print(\"dark\")\n}\n");
}
