// SPDX-License-Identifier: MIT
// Reads the tables of cases in tests/http/cases: lines of "word rest", one case after another.
// What the words mean is for the tests; the escapes of byte text are decoded here.
#pragma once

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/tree.hh"

namespace heddle::test {

struct case_line {
  std::string word;
  std::string rest;
};

struct file_case {
  std::string name;
  std::string place;  // file:line, for messages
  std::vector<case_line> lines;
};

// \r \n \t \0 \s \\ \" and \xHH.
inline std::string unescape(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      bytes += text[i];
      continue;
    }
    if (++i == text.size()) throw std::runtime_error("a backslash ends: " + std::string(text));
    switch (text[i]) {
      case 'r':
        bytes += '\r';
        break;
      case 'n':
        bytes += '\n';
        break;
      case 't':
        bytes += '\t';
        break;
      case '0':
        bytes += '\0';
        break;
      case 's':
        bytes += ' ';
        break;
      case '\\':
        bytes += '\\';
        break;
      case 'x':
        bytes += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
        i += 2;
        break;
      default:
        throw std::runtime_error("unknown escape in: " + std::string(text));
    }
  }
  return bytes;
}

inline std::vector<file_case> read_cases(std::string_view file) {
  std::filesystem::path path = std::filesystem::path(source_dir()) / "tests/http/cases" / file;
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  std::vector<file_case> cases;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.empty() || line.front() == '#') continue;
    std::size_t space = line.find(' ');
    std::string word = line.substr(0, space);
    std::string rest = space == line.npos ? "" : line.substr(space + 1);
    if (word == "case") {
      cases.push_back({rest, std::string(file) + ":" + std::to_string(number), {}});
    } else if (cases.empty()) {
      throw std::runtime_error("a line before the first case in " + path.string());
    } else {
      cases.back().lines.push_back({word, rest});
    }
  }
  return cases;
}

}  // namespace heddle::test
