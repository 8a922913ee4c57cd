// SPDX-License-Identifier: MIT
// The template: NAME is replaced by the program's name.
#include "draft/new_project.hh"

#include "draft/token.hh"

namespace heddle::draft {
namespace {

constexpr std::string_view main_text =
    R"(// Answers each line with its words in reverse. heddle draft run main.draft 7777
module NAME
use net
use log

extern "words.h" {
    fn reverse_words(line: view, var out: buffer) -> i32  // promises not to block: called inline
}

thread session(c: conn) {
    var got = try buffer(4K)
    var out = try buffer(4K)
    loop {
        within 60s {
            let line = try c.read_line(got)
            out.clear()
            if reverse_words(line.trim(), out) != 0 { return }
            try out.put("\n")
            try c.write(out.filled())
        }
    }
}

main(port: u16 = 7777) -> ! {
    let l = try net.listen(port)
    log.print("NAME on port ", l.port())
    loop {
        let c = try l.accept()
        spawn session(c) color c
    }
}
)";

constexpr std::string_view header_text = R"(#pragma once
#include <heddle/draft.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Appends the words of the line in reverse order; 0, or 1 when they do not fit. */
int32_t reverse_words(heddle_view line, heddle_buffer* out);

#ifdef __cplusplus
}
#endif
)";

constexpr std::string_view source_text = R"(#include "words.h"

int32_t reverse_words(heddle_view line, heddle_buffer* out) {
  heddle_put_begin(out);
  size_t end = line.len;
  while (end != 0) {
    size_t begin = end;
    while (begin != 0 && line.data[begin - 1] != ' ') begin--;
    heddle_put_view(out, (heddle_view){line.data + begin, end - begin});
    end = begin == 0 ? 0 : begin - 1;
    if (begin != 0) heddle_put_view(out, HEDDLE_VIEW(" "));
  }
  return heddle_put_end(out) == 0 ? 0 : 1;
}
)";

constexpr std::string_view cmake_text = R"(cmake_minimum_required(VERSION 3.25)
project(NAME LANGUAGES C CXX)

find_package(heddle REQUIRED)

add_executable(NAME)
heddle_draft(NAME main.draft)
target_sources(NAME PRIVATE words.c)

enable_testing()
add_test(NAME talks COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/talk_test.py" $<TARGET_FILE:NAME>)
)";

constexpr std::string_view test_text = R"(#!/usr/bin/env python3
"""Starts the server on a free port and talks to it: talk_test.py PROGRAM."""
import socket
import subprocess
import sys

server = subprocess.Popen([sys.argv[1], "0"], stdout=subprocess.PIPE, text=True)
try:
    port = int(server.stdout.readline().split()[-1])
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        lines = client.makefile("rw")
        lines.write("one two three\n")
        lines.flush()
        answer = lines.readline()
    assert answer == "three two one\n", answer
finally:
    server.kill()
    server.wait()
)";

std::string with_name(std::string_view text, const std::string& name) {
  std::string out(text);
  for (std::size_t at = out.find("NAME"); at != std::string::npos; at = out.find("NAME", at)) {
    // add_test(NAME ...) is CMake's own word.
    const bool keep = out.compare(at, 10, "NAME talks") == 0;
    if (!keep) out.replace(at, 4, name);
    at += keep ? 4 : name.size();
  }
  return out;
}

}  // namespace

bool is_project_name(std::string_view name) noexcept {
  if (name.empty() || name.size() > 64 || (name[0] >= '0' && name[0] <= '9')) return false;
  for (const char c : name)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'))
      return false;
  for (const std::string_view w : keywords())
    if (w == name) return false;
  return true;
}

std::vector<project_file> new_project(const std::string& name) {
  return {{"main.draft", with_name(main_text, name)},
          {"words.h", std::string(header_text)},
          {"words.c", std::string(source_text)},
          {"CMakeLists.txt", with_name(cmake_text, name)},
          {"talk_test.py", std::string(test_text), true}};
}

}  // namespace heddle::draft
