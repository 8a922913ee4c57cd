// SPDX-License-Identifier: MIT
// Writes makefile rules.
#include "source/makefile_rule.hh"

namespace heddle::source {
namespace {

std::string escaped(const std::string& path) {
  std::string out;
  for (const char c : path) {
    if (c == ' ' || c == '#' || c == ':') out += '\\';
    if (c == '$') out += '$';
    out += c;
  }
  return out;
}

}  // namespace

std::string makefile_rule(const std::string& output, const std::vector<std::string>& inputs) {
  std::string rule = escaped(output) + ":";
  for (const std::string& input : inputs) rule += " " + escaped(input);
  return rule + "\n";
}

}  // namespace heddle::source
