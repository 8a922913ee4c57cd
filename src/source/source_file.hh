// SPDX-License-Identifier: MIT
// The text of one source file, with line and column for each byte. Host tools (Draft, Tame) share
// it; it needs nothing of the runtime.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::source {

class source_file;

/// A part of a file: bytes [begin, end). A span without a file names no place.
struct span {
  const source_file* file = nullptr;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  [[nodiscard]] explicit operator bool() const noexcept { return file != nullptr; }
  [[nodiscard]] std::uint32_t size() const noexcept { return end - begin; }
  /// From the beginning of this span to the end of `last`.
  [[nodiscard]] span to(span last) const noexcept { return {file, begin, last.end}; }
};

/// Line and column of a byte; both start at 1. The column counts code points, as editors do.
struct position {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  friend bool operator==(position, position) = default;
};

/// Thread: any; it does not change. Owns: its text, so spans and string_views into it stay valid as
/// long as the file does. At most 64 MB.
class source_file {
 public:
  source_file(std::string path, std::string text);
  source_file(const source_file&) = delete;
  source_file& operator=(const source_file&) = delete;

  static constexpr std::size_t size_max = std::size_t{64} << 20;

  /// The path as it was given; it appears in diagnostics and #line.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string_view text() const noexcept { return text_; }
  [[nodiscard]] std::uint32_t size() const noexcept {
    return static_cast<std::uint32_t>(text_.size());
  }
  /// Number of lines; a file without any newline has one.
  [[nodiscard]] std::uint32_t line_count() const noexcept {
    return static_cast<std::uint32_t>(starts_.size());
  }
  /// Line of a byte. An offset behind the end counts as the end.
  [[nodiscard]] std::uint32_t line_of(std::uint32_t offset) const noexcept;
  [[nodiscard]] std::uint32_t column_of(std::uint32_t offset) const noexcept;
  [[nodiscard]] position position_of(std::uint32_t offset) const noexcept {
    return {line_of(offset), column_of(offset)};
  }
  /// The text of a line, without its line end.
  [[nodiscard]] std::string_view line_text(std::uint32_t line) const noexcept;
  /// The offset of a position, clamped into the file.
  [[nodiscard]] std::uint32_t offset_of(position at) const noexcept;
  [[nodiscard]] std::string_view text_of(span s) const noexcept {
    return text().substr(s.begin, s.size());
  }

 private:
  std::string path_;
  std::string text_;
  std::vector<std::uint32_t> starts_;  // where each line begins
};

/// Reads a file. The error says which file and why.
[[nodiscard]] std::expected<std::string, std::string> read_text(const std::string& path);

/// Writes `text` to `path` through a temporary name beside it, so a reader never sees half of it.
[[nodiscard]] std::expected<void, std::string> write_text(const std::string& path,
                                                          std::string_view text);

/// `#line 12 "a.draft"`, with quotes and backslashes of the path escaped.
[[nodiscard]] std::string line_directive(std::uint32_t line, std::string_view path);

/// Length in bytes of the UTF-8 sequence at `at`; 1 for a byte that begins none.
[[nodiscard]] std::size_t utf8_len(std::string_view text, std::size_t at) noexcept;

}  // namespace heddle::source
