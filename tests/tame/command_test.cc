// SPDX-License-Identifier: MIT
// The command lines: what is written where, and exit codes.
#include "tame/command.hh"

#include <cstdlib>
#include <filesystem>

#include "source/source_file.hh"
#include "support/test.hh"

namespace heddle::tame {
namespace {

/// A folder with one Tame source, gone at the end.
class folder {
 public:
  folder() {
    std::string name = (std::filesystem::temp_directory_path() / "heddle_tame_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
    put("a.tcc", "tamed void f() { twait(r); }\n");
  }
  ~folder() { std::filesystem::remove_all(path_); }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;

  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  void put(const std::string& name, const std::string& text) const {
    EXPECT_TRUE(source::write_text(*this / name, text).has_value());
  }
  [[nodiscard]] std::string get(const std::string& name) const {
    return source::read_text(*this / name).value_or("(missing)");
  }
  [[nodiscard]] std::size_t files() const {
    std::size_t n = 0;
    for ([[maybe_unused]] const auto& e : std::filesystem::directory_iterator(path_)) ++n;
    return n;
  }

 private:
  std::string path_;
};

const std::string made = "      void f() { co_await ::heddle::tame::next(r); co_return; }\n";

HEDDLE_TEST(tame_command, "-o writes the form for the compiler, and -MD a rule for make") {
  const folder here;
  EXPECT_EQ(run_command({"-o", here / "b.cc", "-MD", here / "b.d", here / "a.tcc"}), 0);
  EXPECT_EQ(here.get("b.cc"), "#line 1 \"" + (here / "a.tcc") + "\"\n" + made);
  EXPECT_EQ(here.get("b.d"), (here / "b.cc") + ": " + (here / "a.tcc") + "\n");
  EXPECT_EQ(run_command({"--no-line", "-o", here / "b.cc", here / "a.tcc"}), 0);
  EXPECT_EQ(here.get("b.cc"), made);
}
HEDDLE_TEST(tame_command, "--check says whether a port changes a file, and --write does it once") {
  const folder here;
  EXPECT_EQ(run_command({"--check", here / "a.tcc"}), 1);
  EXPECT_EQ(run_command({"--write", here / "a.tcc"}), 0);
  EXPECT_EQ(here.get("a.tcc"),
            "#include \"heddle/core/tamed.hh\"\nheddle::tamed f() { co_await r; }\n");
  EXPECT_EQ(run_command({"--check", here / "a.tcc"}), 0);
  EXPECT_EQ(here.files(), 1U);
}
HEDDLE_TEST(tame_command, "leaves everything as it is when a source has errors") {
  const folder here;
  here.put("bad.tcc", "void f() { twait { } }\n");
  EXPECT_EQ(run_command({"-o", here / "bad.cc", here / "bad.tcc"}), 1);
  EXPECT_EQ(run_command({"--write", here / "bad.tcc"}), 1);
  EXPECT_EQ(here.get("bad.cc"), "(missing)");
  EXPECT_EQ(here.get("bad.tcc"), "void f() { twait { } }\n");
  EXPECT_EQ(here.files(), 2U);
}
HEDDLE_TEST(tame_command, "takes .T files as the original dialect") {
  const folder here;
  here.put("c.T", "tamed void f(CLOSURE);\n");
  EXPECT_EQ(run_known_tool({"-n", here / "c.T"}), 0);
  EXPECT_EQ(here.get("c.C"), "      void f(       );\n");
  EXPECT_EQ(run_known_tool({"-n", here / "a.tcc"}), 0);
  EXPECT_EQ(here.get("a.cc"), made);
}
HEDDLE_TEST(tame_command, "under the known name takes that tool's flags") {
  const folder here;
  EXPECT_EQ(run_known_tool({"-g", "-n", "-L", "-b", "-o", here / "x.cc", "-c", here / "a.tcc"}), 0);
  EXPECT_EQ(here.get("x.cc"), made);
  EXPECT_EQ(run_known_tool({"--strange", here / "a.tcc"}), 2);
}
HEDDLE_TEST(tame_command, "refuses what it does not know") {
  const folder here;
  EXPECT_EQ(run_command({}), 2);
  EXPECT_EQ(run_command({"--nope"}), 2);
  EXPECT_EQ(run_command({"--dialect", "latin", here / "a.tcc"}), 2);
  EXPECT_EQ(run_command({"--write", "--check", here / "a.tcc"}), 2);
  EXPECT_EQ(run_command({here / "none.tcc"}), 2);
  EXPECT_EQ(run_command({"-o", here / "b.cc", here / "a.tcc", here / "a.tcc"}), 2);
}

HEDDLE_TEST(tame_command,
            "--scan-includes reads headers for macros that return, and names them to make") {
  const folder here;
  here.put("inner.h", "#define LEAVE do { return; } while (0)\n#define OTHER return\n");
  here.put("outer.h", "#include \"inner.h\"\n#include \"outer.h\"\n#define STOP(x) if (x) LEAVE\n");
  const std::string text = "#include <outer.h>\ntamed void f() { STOP(1); twait(r); }\n";
  here.put("a.tcc", text);
  EXPECT_EQ(run_command({"--no-line", "-o", here / "b.cc", here / "a.tcc"}), 0);
  EXPECT_EQ(here.get("b.cc").find("heddle_tame_"), std::string::npos);
  EXPECT_EQ(run_command({"--scan-includes", "-I", here / ".", "-MD", here / "b.d", "-o",
                         here / "b.cc", here / "a.tcc"}),
            0);
  EXPECT_EQ(here.get("b.cc"),
            "#line 1 \"" + (here / "a.tcc") +
                "\"\n#include <outer.h>\n#define heddle_tame_LEAVE do { co_return; } while (0)\n"
                "#define heddle_tame_STOP(x) if (x) heddle_tame_LEAVE\n#line 2 \"" +
                (here / "a.tcc") +
                "\"\n      void f() { heddle_tame_STOP(1); co_await ::heddle::tame::next(r); "
                "co_return; }\n");
  EXPECT_EQ(here.get("b.d"), (here / "b.cc") + ": " + (here / "a.tcc") + " " + (here / "outer.h") +
                                 " " + (here / "inner.h") + "\n");
}
HEDDLE_TEST(tame_command, "--returns gives functions another type") {
  const folder here;
  EXPECT_EQ(run_command({"--no-line", "--returns", "X", "-o", here / "b.cc", here / "a.tcc"}), 0);
  EXPECT_EQ(here.get("b.cc"), "      X f() { co_await ::heddle::tame::next(r); co_return; }\n");
  EXPECT_EQ(run_command({"--returns"}), 2);
}

}  // namespace
}  // namespace heddle::tame
