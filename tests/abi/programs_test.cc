// SPDX-License-Identifier: MIT
// Programs in Draft, compiled to C by each compiler and level, with passes on and off, and run on
// one worker and on four: each prints what its last lines say, and leaves nothing behind.
#include <unistd.h>
#include <algorithm>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "draft/tool.hh"
#include "support/test.hh"
#include "support/tree.hh"

using namespace heddle;
namespace fs = std::filesystem;

namespace {

struct outcome {
  std::string out;
  int code = -1;
};

outcome run(const std::string& command) {
  outcome r;
  std::FILE* const p = ::popen(command.c_str(), "r");
  std::array<char, 4096> chunk{};
  while (const std::size_t n = std::fread(chunk.data(), 1, chunk.size(), p))
    r.out.append(chunk.data(), n);
  const int status = ::pclose(p);
  r.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return r;
}

/// What the lines "// prints: ..." of a program say.
std::string wanted(const std::string& text, const std::string& mark) {
  std::string out;
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    const std::size_t begin = at + mark.size();
    const std::size_t end = text.find('\n', begin);
    out += text.substr(begin, end - begin) + "\n";
  }
  return out;
}

struct build {
  const char* name;
  const char* compiler;
  draft::pass_options passes;
};

const build builds[] = {
    {"gcc -O0", HEDDLE_C_COMPILER " -O0", {}},
    {"gcc -O2", HEDDLE_C_COMPILER " -O2", {}},
    {"clang -O2", "clang-19 -O2", {}},
    {"no passes", HEDDLE_C_COMPILER " -O1", {false, false, false, false, false}},
};

void check_program(const fs::path& file) {
  const auto text = source::read_text(file);
  ASSERT_TRUE(text.has_value());
  const std::string prints = wanted(*text, "// prints: ");
  const std::string code = wanted(*text, "// exit: ");
  const std::string complaint = wanted(*text, "// stderr: ");
  const fs::path folder =
      fs::temp_directory_path() / ("heddle-draft-test-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  for (const build& b : builds) {
    if (std::string(b.compiler).find("clang") == 0 && run("command -v clang-19").code != 0)
      continue;
    draft::compile_options options;
    options.passes = b.passes;
    const draft::compiled made = draft::compile(file, draft::stage::c, options);
    ASSERT_TRUE(made.good()) << source::print(made.report);
    const std::string c = folder / "program.c", program = folder / "program";
    ASSERT_TRUE(source::write_text(c, made.text).has_value());
    const outcome built =
        run(std::string(b.compiler) + " -std=c11 -Wall -Wextra -Wpedantic -Wconversion -Werror " +
            HEDDLE_C_FLAGS + " -I" + test::source_dir() + "/include -I" +
            file.parent_path().string() + " " + c + " -o " + program + " " + test::build_dir() +
            "/lib/libheddle.a " HEDDLE_LINK_LIBRARIES " 2>&1");
    ASSERT_EQ(built.code, 0) << b.name << "\n" << built.out;
    for (const char* workers : {"1", "4"}) {
      const outcome r = run("HEDDLE_WORKERS=" + std::string(workers) + " timeout 60 " + program +
                            " 2>" + (folder / "errors").string());
      const std::string errors = source::read_text(folder / "errors").value_or("");
      EXPECT_EQ(r.out, prints) << b.name << ", workers " << workers << "\n" << errors;
      EXPECT_EQ(r.code, code.empty() ? 0 : std::stoi(code)) << b.name << "\n" << errors;
      if (complaint.empty()) EXPECT_EQ(errors, "") << b.name << ", workers " << workers;
      for (std::size_t at = 0; at != complaint.size();) {
        const std::size_t end = complaint.find('\n', at);
        EXPECT_NE(errors.find(complaint.substr(at, end - at)), std::string::npos)
            << complaint.substr(at, end - at) << "\n"
            << b.name << "\n"
            << errors;
        at = end + 1;
      }
    }
  }
  fs::remove_all(folder);
}

}  // namespace

HEDDLE_TEST(draft_programs, "each prints what it says, in all builds") {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(test::source_dir() + "/tests/abi/programs"))
    if (entry.path().extension() == ".draft") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  ASSERT_FALSE(files.empty());
  for (const fs::path& file : files) {
    SCOPED_TRACE(file.filename());
    check_program(file);
  }
}

HEDDLE_TEST(draft_programs, "a declaration that C contradicts is an error at its line") {
  // Each type of Draft beside each type of C: as parameter and as result. The first names of both
  // lists belong together.
  const std::vector<std::string> ours{"i32", "u32", "i64", "u64", "u8", "i16", "bool", "view"};
  const std::vector<std::string> theirs{"int32_t", "uint32_t", "int64_t", "uint64_t",
                                        "uint8_t", "int16_t",  "bool",    "heddle_view",
                                        "double",  "char",     "float",   "const char*"};
  const fs::path folder =
      fs::temp_directory_path() / ("heddle-draft-pairs-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  std::string text = "module pairs\nextern \"pairs.h\" {\n",
              header = "#include \"heddle/draft.h\"\n";
  std::vector<bool> right(3);  // by line, from 1; the first pair is on line 3
  const auto add = [&](const std::string& in_draft, const std::string& in_c, bool fits) {
    text += "    " + in_draft + "\n";
    header += in_c + ";\n";
    right.push_back(fits);
  };
  for (std::size_t i = 0; i != ours.size(); ++i)
    for (std::size_t k = 0; k != theirs.size(); ++k) {
      const std::string name = "_" + std::to_string(i) + "_" + std::to_string(k) + "(";
      add("fn p" + name + "n: " + ours[i] + ") -> i32", "int32_t p" + name + theirs[k] + " n)",
          i == k);
      if (ours[i] != "view")
        add("fn r" + name + ") -> " + ours[i], theirs[k] + " r" + name + "void)", i == k);
    }
  ASSERT_TRUE(source::write_text(folder / "pairs.draft", text + "}\nmain() {}\n").has_value());
  ASSERT_TRUE(source::write_text(folder / "pairs.h", header).has_value());
  const draft::compiled made = draft::compile(folder / "pairs.draft", draft::stage::c);
  ASSERT_TRUE(made.good()) << source::print(made.report);
  ASSERT_TRUE(source::write_text(folder / "pairs.c", made.text).has_value());
  for (std::string compiler : {HEDDLE_C_COMPILER, "clang-19"}) {
    if (compiler == "clang-19" && run("command -v clang-19").code != 0) continue;
    if (compiler.find("clang") != std::string::npos) compiler += " -ferror-limit=0";
    // -w, as `heddle draft run` has it: a warning would be lost.
    const outcome checked =
        run(compiler + " -std=c11 -w -fsyntax-only -I" + test::source_dir() + "/include -I" +
            folder.string() + " " + (folder / "pairs.c").string() + " 2>&1");
    for (std::size_t line = 3; line != right.size(); ++line) {
      const std::string mark = "pairs.draft:" + std::to_string(line) + ":";
      EXPECT_EQ(checked.out.find(mark) == std::string::npos, right[line])
          << compiler << ", line " << line;
    }
  }
  fs::remove_all(folder);
}

HEDDLE_TEST(draft_programs, "operations of sockets, pipes and processes work with each driver") {
  const fs::path folder =
      fs::temp_directory_path() / ("heddle-draft-drivers-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  for (const std::string name : {"network", "shared_conn", "os"}) {
    const fs::path file = test::source_dir() + "/tests/abi/programs/" + name + ".draft";
    const std::string prints = wanted(source::read_text(file).value_or(""), "// prints: ");
    const draft::compiled made = draft::compile(file, draft::stage::c);
    ASSERT_TRUE(made.good()) << source::print(made.report);
    const std::string c = folder / (name + ".c"), program = folder / name;
    ASSERT_TRUE(source::write_text(c, made.text).has_value());
    const outcome built =
        run(std::string(HEDDLE_C_COMPILER " -std=c11 -w ") + HEDDLE_C_FLAGS + " -I" +
            test::source_dir() + "/include -I" + file.parent_path().string() + " " + c + " -o " +
            program + " " + test::build_dir() + "/lib/libheddle.a " HEDDLE_LINK_LIBRARIES);
    ASSERT_EQ(built.code, 0) << built.out;
    for (const std::string driver : {"io_uring", "epoll", "poll", "sim"}) {
      if (driver == "sim" && name == "os") continue;  // it has no processes
      const outcome r =
          run("HEDDLE_WORKERS=1 HEDDLE_DRIVER=" + driver + " timeout 60 " + program + " 2>&1");
      EXPECT_EQ(r.out, prints) << name << " with " << driver;
      EXPECT_EQ(r.code, 0) << name << " with " << driver;
    }
  }
  fs::remove_all(folder);
}
