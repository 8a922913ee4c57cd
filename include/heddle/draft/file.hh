// SPDX-License-Identifier: MIT
// Files of Draft: handles of heddle/abi.h.
//
//   const draft::file f = co_await draft::open("notes");
//   co_await draft::send_file(c, f, 0, co_await f.size());
#pragma once

#include <string>
#include <string_view>

#include "heddle/draft/network.hh"

namespace heddle::from_draft {

/// Thread: one color. Owns: the open file.
class file {
 public:
  using handle_type = heddle_file;

  file() noexcept = default;
  explicit file(heddle_file* made) noexcept : raw_(made) {}
  explicit file(heddle::file f) : raw_(abi::make_file(std::move(f))) {}

  /// The file itself, to go on with in Heddle's terms.
  [[nodiscard]] const heddle::file& handle() const noexcept { return abi::file_of(*raw_); }
  [[nodiscard]] heddle_file* raw() const noexcept { return raw_.get(); }

  /// How many bytes it has.
  [[nodiscard]] auto size() const { return detail::ask<heddle_file_size, std::int64_t>(raw()); }
  /// Appends what it has at `at_byte` to a buffer; how many bytes. Fails: error.eof at its end.
  [[nodiscard]] auto read(buffer& to, std::int64_t at_byte) const {
    return detail::ask<heddle_file_read, std::int64_t>(raw(), to.raw(), at_byte);
  }
  /// Writes all of it at the end.
  [[nodiscard]] auto write(std::string_view what) const {
    return detail::ask<heddle_file_write>(raw(), to_c(what));
  }
  /// Waits until what was written is on the disk.
  [[nodiscard]] auto sync() const { return detail::ask<heddle_file_sync>(raw()); }

 private:
  detail::owned_handle<heddle_file, heddle_file_close> raw_;
};

/// Opens a file to read it.
[[nodiscard]] inline auto open(std::string_view path) {
  return detail::ask<heddle_file_open, file>(to_c(path));
}
/// Opens a file to write at its end, and makes it if there is none.
[[nodiscard]] inline auto append(std::string_view path) {
  return detail::ask<heddle_file_append, file>(to_c(path));
}
/// Opens a regular file to read it. Fails: error.denied where the path leads out of `root`.
[[nodiscard]] inline auto open_under(std::string_view root, std::string_view path) {
  return detail::ask<heddle_file_open_under, file>(to_c(root), to_c(path));
}

/// Sends the bytes of a file from `begin` up to `end`.
[[nodiscard]] inline auto send_file(const conn& to, const file& from, std::int64_t begin,
                                    std::int64_t end) {
  return detail::ask<heddle_send_file>(to.raw(), from.raw(), begin, end);
}

}  // namespace heddle::from_draft
