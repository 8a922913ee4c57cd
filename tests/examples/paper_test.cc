// SPDX-License-Identifier: MIT
// The papers' programs among the examples, on virtual time, and those that share their loop with
// another library, on epoll: each says what it should.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "output.hh"
#include "support/test.hh"
#include "support/tree.hh"

using heddle::test::expect_output;
using heddle::test::output_of;

#define HEDDLE_NEEDS_EXAMPLE(name)                                             \
  if (!std::filesystem::exists(heddle::test::build_dir() + "/examples/" name)) \
  GTEST_SKIP() << "not built: it needs a library that is not installed"

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

HEDDLE_TEST(foreign, "libuv runs the runtime, and the runtime runs libuv") {
  HEDDLE_NEEDS_EXAMPLE("uv_loop");
  expect_output("uv_loop",
                "inside libuv: 3 ticks, sum 6\n"
                "libuv inside: 6 ticks, sum 12\n",
                "epoll");
}

HEDDLE_TEST(foreign, "GLib's main loop runs the runtime") {
  HEDDLE_NEEDS_EXAMPLE("glib_loop");
  expect_output("glib_loop", "inside GLib: 3 ticks, 4 sleeps\n", "epoll");
}

HEDDLE_TEST(foreign, "libcurl's multi interface runs inside the runtime") {
  HEDDLE_NEEDS_EXAMPLE("curl_multi");
  expect_output("curl_multi", "5 of 5 pages through libcurl\n", "epoll");
}

HEDDLE_TEST(complex_events,
            "double_click: two clicks within 300 ms, right clicks, and none on the border") {
  expect_output("double_click 0 120 900 1000+ 1050- 1700",
                "click at 0\nclick at 120\n  double click: 0 and 120\nclick at 900\n"
                "click at 1000\n  menu\n  double click: 900 and 1000\nclick at 1700\n");
}
