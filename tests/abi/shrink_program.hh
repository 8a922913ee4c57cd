// SPDX-License-Identifier: MIT
// Makes a failing program small: statements and whole blocks are taken out as long as it still
// fails. A random program of 200 lines becomes the few that matter.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace heddle::test {

class program_shrinker {
 public:
  /// `fails` says whether a text is a program that still fails in the same way; a text that does
  /// not compile does not.
  program_shrinker(const std::string& text, std::function<bool(const std::string&)> fails,
                   int tries_max = 2000)
      : fails_(std::move(fails)), tries_(tries_max) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      lines_.push_back(text.substr(at, end - at));
      at = end + 1;
    }
  }

  std::string run() {
    for (bool smaller = true; smaller && tries_ > 0;) {
      smaller = false;
      // From the end: what is used last goes first.
      for (std::size_t i = lines_.size(); i-- > 0 && tries_ > 0;) {
        if (i >= lines_.size()) continue;
        const std::size_t end = end_of_block(i);
        smaller |= without(i, end) || unwrapped(i, end);
      }
      if (!smaller) smaller = without_two();
    }
    return joined(lines_);
  }

 private:
  static int depth_of(const std::string& line) {
    int depth = 0;
    bool quoted = false;
    for (const char c : line) {
      if (c == '"') quoted = !quoted;
      if (!quoted && c == '{') ++depth;
      if (!quoted && c == '}') --depth;
    }
    return depth;
  }

  /// One behind the line that closes what the line at `i` opens.
  [[nodiscard]] std::size_t end_of_block(std::size_t i) const {
    int depth = 0;
    std::size_t at = i;
    do depth += depth_of(lines_[at++]);
    while (depth > 0 && at != lines_.size());
    return at;
  }

  static std::string joined(const std::vector<std::string>& lines) {
    std::string out;
    for (const std::string& l : lines) out += l + "\n";
    return out;
  }

  bool keep_if_fails(std::vector<std::string> smaller) {
    --tries_;
    if (!fails_(joined(smaller))) return false;
    lines_ = std::move(smaller);
    return true;
  }

  bool without(std::size_t begin, std::size_t end) {
    std::vector<std::string> smaller = lines_;
    smaller.erase(smaller.begin() + static_cast<std::ptrdiff_t>(begin),
                  smaller.begin() + static_cast<std::ptrdiff_t>(end));
    return keep_if_fails(std::move(smaller));
  }

  /// A variable and its last use go together, because an unused variable is an error.
  bool without_two() {
    for (std::size_t i = lines_.size(); i-- > 0;) {
      for (std::size_t k = i; k-- > 0 && tries_ > 0;) {
        if (end_of_block(i) != i + 1 || end_of_block(k) != k + 1) continue;
        std::vector<std::string> smaller = lines_;
        smaller.erase(smaller.begin() + static_cast<std::ptrdiff_t>(i));
        smaller.erase(smaller.begin() + static_cast<std::ptrdiff_t>(k));
        if (keep_if_fails(std::move(smaller))) return true;
      }
    }
    return false;
  }

  /// The body of a block in place of the block.
  bool unwrapped(std::size_t begin, std::size_t end) {
    if (begin >= lines_.size() || end > lines_.size() || end - begin < 3) return false;
    std::vector<std::string> smaller = lines_;
    smaller.erase(smaller.begin() + static_cast<std::ptrdiff_t>(end - 1));
    smaller.erase(smaller.begin() + static_cast<std::ptrdiff_t>(begin));
    return keep_if_fails(std::move(smaller));
  }

  std::function<bool(const std::string&)> fails_;
  int tries_;
  std::vector<std::string> lines_;
};

}  // namespace heddle::test
