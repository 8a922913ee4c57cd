// SPDX-License-Identifier: MIT
// The papers' programs among the examples: each is run on virtual time and says what it should.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "support/test.hh"

namespace {

/// What an example prints, its exit status in `status`.
std::string output_of(const std::string& name, int& status) {
  const std::string command = "HEDDLE_DRIVER=sim " HEDDLE_BUILD_DIR "/examples/" + name + " 2>&1";
  std::FILE* from = ::popen(command.c_str(), "r");
  std::string text;
  std::array<char, 4096> part;
  while (const std::size_t n = std::fread(part.data(), 1, part.size(), from))
    text.append(part.data(), n);
  status = ::pclose(from);
  return text;
}

void expect_output(const std::string& name, const std::string& wanted) {
  int status = -1;
  EXPECT_EQ(output_of(name, status), wanted);
  EXPECT_EQ(status, 0);
}

}  // namespace

HEDDLE_TEST(paper, "multidns looks names up one by one, all at once, and in a window") {
  expect_output("multidns",
                "serial    8 names in 160 ms, dddd is 192.0.2.4\n"
                "parallel  8 names in  20 ms, dddd is 192.0.2.4\n"
                "windowed  8 names in  40 ms, dddd is 192.0.2.4\n");
}

HEDDLE_TEST(paper, "lookup_timeout gives up on the slow name, three ways") {
  expect_output("lookup_timeout",
                "by hand      fast.example  192.0.2.12\n"
                "own adapter  fast.example  192.0.2.12\n"
                "library      fast.example  192.0.2.12\n"
                "by hand      slow.example  timed out, after 50 ms\n"
                "own adapter  slow.example  timed out, after 50 ms\n"
                "library      slow.example  timed out, after 50 ms\n");
}

HEDDLE_TEST(paper, "read_locks shows who shares and who waits") {
  expect_output("read_locks",
                "reader 1 in, 1 at once\n"
                "reader 2 in, 2 at once\n"
                "hurried writer: Connection timed out\n"
                "writer 3 in, alone\n"
                "reader 4 in, 2 at once\n"
                "reader 5 in, 2 at once\n"
                "0 locks left\n");
}

HEDDLE_TEST(paper, "page asks in parallel, within its window, and leaves the banner out") {
  expect_output("page",
                "<user ada>\n"
                "<article 0> <article 1> <article 2> <article 3> <article 4> <article 5> "
                "<article 6> <article 7> \n"
                "<friends>\n"
                "(no banner: Connection timed out)\n"
                "in parallel, at most 6 queries at once\n");
}
