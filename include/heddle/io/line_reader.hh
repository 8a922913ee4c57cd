// SPDX-License-Identifier: MIT
// Text by lines, or by any delimiter, from a stream or the reading end of a pipe.
#pragma once

#include <string>
#include <string_view>

#include "heddle/core/task.hh"
#include "heddle/io/pipe.hh"
#include "heddle/io/stream.hh"

namespace heddle {

/// Thread: one color. Keeps a copy of the handle, and what it has read ahead: read on through it.
/// While it waits and has read nothing ahead, it holds some 500 bytes, frames included.
/// Cancel: nothing is lost; the next call goes on with what has arrived.
/// Fails: argument_list_too_long when `limit` bytes came without the delimiter, broken_pipe when
/// the stream ended without it (what came before stays in rest()), and as reading does.
///
///   line_reader lines(conn);
///   std::string_view line = co_await lines.take_until("\r\n", 1024);    // with its delimiter
class line_reader {
 public:
  explicit line_reader(stream from) noexcept : stream_(std::move(from)) {}
  explicit line_reader(pipe_reader from) noexcept : pipe_(std::move(from)) {}

  /// The bytes up to and with the delimiter, at most `limit`. They stay until the next call. An
  /// empty delimiter aborts the program.
  [[nodiscard]] task<std::string_view> take_until(std::string_view delimiter,
                                                  std::size_t limit = 8192);
  /// A line without its "\n" or "\r\n", which count for the limit. It stays until the next call.
  [[nodiscard]] task<std::string_view> line(std::size_t limit = 8192);
  /// Exactly this many bytes. They stay until the next call.
  [[nodiscard]] task<std::string_view> take(std::size_t count);

  /// The bytes that were read and not taken.
  [[nodiscard]] std::string_view rest() const noexcept {
    return std::string_view(buffer_).substr(taken_);
  }

 private:
  /// Reads more bytes after those of rest(); false at the end.
  [[nodiscard]] task<bool> read_more();
  template <std::size_t Bytes>
  [[nodiscard]] task<std::size_t> read_from_pipe();
  void forget_taken();

  stream stream_;
  pipe_reader pipe_;
  std::string buffer_;
  std::size_t taken_ = 0;    // bytes of the buffer that were given out
  bool comes_fast_ = false;  // the pipe's last read brought much
};

}  // namespace heddle
