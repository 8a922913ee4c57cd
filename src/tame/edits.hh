// SPDX-License-Identifier: MIT
// Changes to a text, applied in one pass. The rest of the text stays as it is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tame/analysis.hh"

namespace heddle::tame {

struct edit {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::size_t order = 0;  ///< number in the order of making; it sorts the edits of one place
  std::string text;
};

/// Edits of one file. An edit that begins inside of an earlier one is left out.
class edit_list {
 public:
  explicit edit_list(std::string_view text) : text_(text) {}

  void replace(range r, std::string text) {
    all_.push_back({r.begin, r.end, all_.size(), std::move(text)});
  }
  void insert(std::uint32_t at, std::string text) {
    all_.push_back({at, at, all_.size(), std::move(text)});
  }
  /// Replaces a range by spaces, so that lines and columns stay.
  void blank(range r) {
    std::string spaces(text_.substr(r.begin, r.end - r.begin));
    for (char& c : spaces)
      if (c != '\n' && c != '\r' && c != '\t') c = ' ';
    replace(r, std::move(spaces));
  }
  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }

  /// The edits in order of place. At one place insertions come first.
  [[nodiscard]] const std::vector<edit>& sorted() {
    std::sort(all_.begin(), all_.end(), [](const edit& a, const edit& b) {
      if (a.begin != b.begin) return a.begin < b.begin;
      const bool a_inserts = a.begin == a.end, b_inserts = b.begin == b.end;
      return a_inserts != b_inserts ? a_inserts : a.order < b.order;
    });
    return all_;
  }

  [[nodiscard]] std::string apply() {
    static_cast<void>(sorted());
    std::string out;
    out.reserve(text_.size() + all_.size() * 32);
    std::uint32_t at = 0;
    for (const edit& e : all_) {
      if (e.begin < at) continue;
      out += text_.substr(at, e.begin - at);
      out += e.text;
      at = e.end;
    }
    out += text_.substr(at);
    return out;
  }

 private:
  std::string_view text_;
  std::vector<edit> all_;
};

}  // namespace heddle::tame
