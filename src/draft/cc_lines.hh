// SPDX-License-Identifier: MIT
// The lines of a C++ file: indented, broken at 100 columns, with the comments of the Draft file
// where they were.
#pragma once

#include <string>
#include <vector>

#include "draft/lexer.hh"

namespace heddle::draft {

class cc_lines {
 public:
  /// The comments of this file go along from now on.
  void take_comments(const source::source_file& file);

  void line(const std::string& s);
  void blank();
  void open(const std::string& s) { line(s.empty() ? "{" : s + " {"), ++depth_; }
  void close(const std::string& tail = "") { --depth_, line("}" + tail); }
  /// `} else {` and the like.
  void between(const std::string& s) { --depth_, open("} " + s); }

  /// Comments in lines of their own before this byte of the file.
  void comments_before(std::uint32_t byte);
  /// The comment at the end of this line goes to the line that was written at `from`.
  void comment_at(std::uint32_t source_line, std::size_t from);
  /// The comments from this byte on come next.
  void seek_comments(std::uint32_t byte);
  /// A blank line, if the file has one before the statement at this byte, or before its comments.
  void blank_as_in(std::uint32_t byte);

  /// Closes a block that was opened at `from`; one statement goes behind its condition.
  void close_if(std::size_t from);
  /// Closes a lambda; one statement goes on its line: `[&] { f(); }`.
  void close_lambda(std::size_t from, const std::string& tail);
  /// Replaces the first `what` behind `from`, which is there.
  void replace_from(std::size_t from, const std::string& what, const std::string& with) {
    out_.replace(out_.find(what, from), what.size(), with);
  }
  /// Drops the last line, if it is this one, and a coroutine's word is left behind `from`.
  void drop_last(const std::string& what, std::size_t from);
  void open_case() { ++depth_; }
  /// Lines that were written from `from` on get braces, unless they are one simple statement: a
  /// variable of one case is none of the next.
  void close_case(std::size_t from);

  [[nodiscard]] std::size_t size() const noexcept { return out_.size(); }
  [[nodiscard]] const std::string& text() const noexcept { return out_; }
  /// For a try: lines that come after are dropped again.
  struct mark {
    std::size_t size;
    int depth;
    std::size_t next;
  };
  [[nodiscard]] mark here() const noexcept { return {out_.size(), depth_, next_}; }
  void back_to(const mark& m) {
    out_.resize(m.size);
    depth_ = m.depth;
    next_ = m.next;
  }

 private:
  std::string out_;
  int depth_ = 0;
  const source::source_file* file_ = nullptr;
  std::vector<comment> comments_;
  std::size_t next_ = 0;
};

}  // namespace heddle::draft
