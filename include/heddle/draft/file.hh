// SPDX-License-Identifier: MIT
// Files of Draft on Heddle's file.
//
//   const draft::file f = co_await draft::open("notes");
//   co_await c.write_part(f, 0, co_await f.size());
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/draft/network.hh"
#include "heddle/io/directory.hh"
#include "heddle/io/file.hh"

namespace heddle::from_draft {

/// Thread: one color. Owns: the open file.
class file {
 public:
  file() noexcept = default;
  explicit file(heddle::file f) noexcept : file_(std::move(f)) {}
  file(file&&) noexcept = default;
  file& operator=(file&&) noexcept = default;

  /// The file itself, to go on with in Heddle's terms.
  [[nodiscard]] const heddle::file& handle() const noexcept { return file_; }

  /// How many bytes it has.
  [[nodiscard]] task<std::int64_t> size() const { return size_of(file_); }
  /// Appends what it has at `at` to a buffer; how many bytes. Fails: error.eof at its end.
  [[nodiscard]] task<std::int64_t> read(buffer& to, std::int64_t at) const {
    return read_of(file_, to, at);
  }
  /// Writes all of it at the end.
  [[nodiscard]] task<> write(std::string_view what) const { return write_of(file_, what); }
  /// Waits until what was written is on the disk.
  [[nodiscard]] task<> sync() const { return sync_of(file_); }

 private:
  static task<std::int64_t> size_of(heddle::file f) {
    check_canceled();
    co_return static_cast<std::int64_t>(value_of(co_await as_expected(f.size())));
  }
  static task<std::int64_t> read_of(heddle::file f, buffer& to, std::int64_t at) {
    check_canceled();
    if (at < 0) throw error("invalid");
    heddle_buffer& raw = *to.raw();
    heddle_buffer_pack(&raw);
    const std::size_t room = raw.capacity - raw.end;
    if (room == 0) throw error("full");
    const byte_span into(raw.data + raw.end, room);
    const std::size_t got =
        value_of(co_await as_expected(f.read_at(static_cast<std::uint64_t>(at), into)));
    if (got == 0) throw error("eof");
    raw.end += got;
    co_return static_cast<std::int64_t>(got);
  }
  static task<> write_of(heddle::file f, std::string_view what) {
    check_canceled();
    value_of(co_await as_expected(f.write_at(0, byte_view(what))));
  }
  static task<> sync_of(heddle::file f) {
    check_canceled();
    value_of(co_await as_expected(f.sync()));
  }
  heddle::file file_;
};

/// Opens a file to read it.
[[nodiscard]] inline task<file> open(std::string_view path) {
  check_canceled();
  co_return file(value_of(co_await as_expected(open_file(std::string(path)))));
}
/// Opens a file to write at its end, and makes it if there is none.
[[nodiscard]] inline task<file> append(std::string_view path) {
  check_canceled();
  file_options options;
  options.write = options.create = options.append = true;
  co_return file(value_of(co_await as_expected(open_file(std::string(path), options))));
}
/// Opens a regular file to read it. Fails: error.denied where the path leads out of `root`.
[[nodiscard]] inline task<file> open_under(std::string_view root, std::string_view path) {
  check_canceled();
  const std::size_t begin = path.find_first_not_of('/');
  const std::string below(begin == std::string_view::npos ? "." : path.substr(begin));
  const directory top = value_of(co_await as_expected(open_directory(std::string(root))));
  heddle::file f = value_of(co_await as_expected(top.open(below)));
  const file_status status = value_of(co_await as_expected(f.status()));
  if (status.type != entry_type::file) throw error("is_directory");
  co_return file(std::move(f));
}

/// Sends the bytes of a file from `at` up to `end`.
[[nodiscard]] inline task<> send_file(const conn& to, const file& from, std::int64_t at,
                                      std::int64_t end) {
  if (at < 0 || end < at) throw error("invalid");
  constexpr std::int64_t chunk_bytes = 64 * 1024;
  std::vector<std::byte> chunk(static_cast<std::size_t>(std::min(chunk_bytes, end - at)));
  while (at < end) {
    check_canceled();
    const byte_span into(chunk.data(), std::min(chunk.size(), static_cast<std::size_t>(end - at)));
    const std::size_t got =
        value_of(co_await as_expected(from.handle().read_at(static_cast<std::uint64_t>(at), into)));
    if (got == 0) break;
    co_await to.write(std::string_view(reinterpret_cast<const char*>(chunk.data()), got));
    at += static_cast<std::int64_t>(got);
  }
}

}  // namespace heddle::from_draft
