// SPDX-License-Identifier: MIT
// Files, positions and diagnostics of the host tools.
#include "source/source_file.hh"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "source/diagnostic.hh"
#include "support/test.hh"

using namespace heddle::source;

HEDDLE_TEST(source_file, "each byte has a line and a column, counted in code points") {
  const source_file f("a.draft", "one\ntw\xc3\xb6 x\n\nend");
  EXPECT_EQ(f.line_count(), 4u);
  EXPECT_EQ(f.position_of(0), (position{1, 1}));
  EXPECT_EQ(f.position_of(3), (position{1, 4}));
  EXPECT_EQ(f.position_of(4), (position{2, 1}));
  EXPECT_EQ(f.position_of(8), (position{2, 4}));
  EXPECT_EQ(f.position_of(999), (position{4, 4}));
  EXPECT_EQ(f.line_text(2), "tw\xc3\xb6 x");
  EXPECT_EQ(f.line_text(3), "");
  EXPECT_EQ(f.line_text(5), "");
}

HEDDLE_TEST(source_file, "write_text replaces no device or pipe, and keeps links and modes") {
  const std::filesystem::path at =
      std::filesystem::temp_directory_path() / ("heddle-write-" + std::to_string(::getpid()));
  std::filesystem::create_directory(at);
  const std::string pipe = at / "pipe", file = at / "file", link = at / "link";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  EXPECT_TRUE(write_text(pipe, "x").has_value());
  struct stat s{};
  ::stat(pipe.c_str(), &s);
  EXPECT_TRUE(S_ISFIFO(s.st_mode));
  ::close(reader);
  EXPECT_TRUE(write_text(file, "a").has_value());
  ::chmod(file.c_str(), 0750);
  std::filesystem::create_symlink("file", link);
  EXPECT_TRUE(write_text(link, "b").has_value());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(read_text(file).value(), "b");
  ::stat(file.c_str(), &s);
  EXPECT_EQ(s.st_mode & 0777, 0750u);
  EXPECT_FALSE(std::filesystem::exists(file + ".new"));
  std::filesystem::remove_all(at);
}

HEDDLE_TEST(source_file, "offset_of is the inverse of position_of, and clamps") {
  const source_file f("a",
                      "ab\r\nc\xe2\x82\xac"
                      "d\n");
  for (const std::uint32_t at : {0u, 1u, 4u, 5u, 8u}) EXPECT_EQ(f.offset_of(f.position_of(at)), at);
  EXPECT_EQ(f.offset_of({1, 99}), 2u);
  EXPECT_EQ(f.offset_of({99, 1}), f.size());
  EXPECT_EQ(f.line_text(1), "ab");
}

HEDDLE_TEST(source_file, "bytes that are no UTF-8 count as one column each") {
  const source_file f("a", "\xff\xfe\xe2\x82x");
  EXPECT_EQ(f.position_of(4), (position{1, 5}));
}

HEDDLE_TEST(source_file, "#line escapes the path") {
  EXPECT_EQ(line_directive(7, "a\\b\"c.draft"), "#line 7 \"a\\\\b\\\"c.draft\"");
}

HEDDLE_TEST(diagnostic, "text shows the line, a caret, the second place and the hint") {
  const source_file f("a.draft", "let x = 1\n\tf(x, y)\n");
  diagnostic d{"D1",        severity::error, {&f, 16, 17}, "no y", {{{&f, 4, 5}, "x is here"}},
               "declare it"};
  EXPECT_EQ(to_text(d),
            "a.draft:2:7: error[D1]: no y\n"
            "    2 | \tf(x, y)\n"
            "      | \t     ^\n"
            "  a.draft:1:5: note: x is here\n"
            "    1 | let x = 1\n"
            "      |     ^\n"
            "  hint: declare it\n");
}

HEDDLE_TEST(diagnostic, "a span of several lines is underlined to the end of its first") {
  const source_file f("a", "abc {\n}\n");
  EXPECT_EQ(to_text({"", severity::warning, {&f, 0, 7}, "m"}),
            "a:1:1: warning: m\n    1 | abc {\n      | ^~~~~\n");
}

HEDDLE_TEST(diagnostic, "JSON escapes what JSON cannot hold") {
  const source_file f("a\"b", "x\n");
  EXPECT_EQ(to_json({"D2", severity::error, {&f, 0, 1}, "bad \x01 \xff", {}, ""}),
            "{\"severity\":\"error\",\"code\":\"D2\",\"file\":\"a\\\"b\",\"line\":1,\"column\":1,"
            "\"end_line\":1,\"end_column\":2,\"message\":\"bad \\u0001 \\ufffd\",\"notes\":[],"
            "\"hint\":\"\"}");
}

HEDDLE_TEST(diagnostic, "errors beyond the limit are counted and not kept") {
  const source_file f("a", "x\n");
  diagnostics all;
  for (int i = 0; i != 300; ++i) all.error("", {&f, 0, 1}, "m").hint = "h";
  EXPECT_EQ(all.errors(), 300u);
  EXPECT_EQ(all.all().size(), diagnostics::kept_max);
}
