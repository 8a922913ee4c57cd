// SPDX-License-Identifier: MIT
// Builds C++ that --emit cc wrote, and runs programs: for the tests of that stage.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "draft/tool.hh"
#include "support/test.hh"
#include "support/tree.hh"

namespace heddle::test {

struct outcome {
  std::string out;
  int code = -1;
};

/// What a command of the shell prints, and its exit code.
inline outcome run_command(const std::string& command) {
  outcome r;
  std::FILE* const p = ::popen(command.c_str(), "r");
  std::array<char, 4096> chunk{};
  while (const std::size_t n = std::fread(chunk.data(), 1, chunk.size(), p))
    r.out.append(chunk.data(), n);
  const int status = ::pclose(p);
  r.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return r;
}

/// The C++ compilers of this machine. Under a sanitizer only that which built the library.
inline std::vector<std::string> cc_compilers() {
  std::vector<std::string> found;
  const bool plain = std::string(HEDDLE_C_FLAGS).empty();
  for (const char* name : {"clang++-19", "g++"})
    if ((plain || found.empty()) && run_command(std::string("command -v ") + name).code == 0)
      found.emplace_back(name);
  return found;
}

/// The C++ of a file in Draft; empty when the compiler refuses it, which fails the test.
inline std::string cc_of_file(const std::string& path) {
  const draft::compiled made = draft::compile(path, draft::stage::cc);
  EXPECT_TRUE(made.good()) << source::print(made.report);
  return made.text;
}

/// A folder that goes with the test.
class scratch {
 public:
  explicit scratch(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              ("heddle-" + name + "-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  scratch(const scratch&) = delete;
  ~scratch() { std::filesystem::remove_all(path_); }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

/// One compiler with its flags. It reads heddle/draft.hh once, which takes longer than most
/// programs do, and builds programs in a folder of its own.
class cc_builder {
 public:
  cc_builder(std::string compiler, const std::string& flags)
      : compiler_(std::move(compiler)),
        flags_(" -std=c++23 -pthread " + flags + " " HEDDLE_C_FLAGS " -I" + source_dir() +
               "/include "),
        folder_("cc-" + compiler_) {
    const std::string header = folder_.path() / "first.hh";
    const bool clang = compiler_.starts_with("clang");
    static_cast<void>(source::write_text(header, "#include \"heddle/draft.hh\"\n"));
    const outcome made = run_command(compiler_ + flags_ + " -x c++-header " + header + " -o " +
                                     header + (clang ? ".pch" : ".gch") + " 2>&1");
    EXPECT_EQ(made.code, 0) << made.out;
    flags_ += "-include " + header + " ";
  }

  /// Compiles one file and links it. Gives what the compiler said, or an empty text.
  [[nodiscard]] std::string build(const std::string& text, const std::string& more = "") const {
    const std::string cc = folder_.path() / "program.cc";
    if (!source::write_text(cc, text)) return "cannot write " + cc;
    const outcome built =
        run_command(compiler_ + flags_ + more + " " + cc + " -o " + program() + " " + build_dir() +
                    "/lib/libheddle.a " HEDDLE_LINK_LIBRARIES " 2>&1");
    return built.code == 0 ? std::string() : compiler_ + ":\n" + built.out;
  }
  /// Only looks whether it compiles; gives what the compiler said.
  [[nodiscard]] std::string check(const std::string& text, const std::string& more) const {
    const std::string cc = folder_.path() / "program.cc";
    if (!source::write_text(cc, text)) return "cannot write " + cc;
    return run_command(compiler_ + flags_ + "-fsyntax-only " + more + " " + cc + " 2>&1").out;
  }
  /// What was built last.
  [[nodiscard]] std::string program() const { return folder_.path() / "program"; }
  [[nodiscard]] const std::string& name() const noexcept { return compiler_; }

 private:
  std::string compiler_;
  std::string flags_;
  scratch folder_;
};

}  // namespace heddle::test
