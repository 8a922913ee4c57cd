// SPDX-License-Identifier: MIT
// A buffer that grows to the longest line asked for; each byte is searched once.
#include "heddle/io/line_reader.hh"

#include <cerrno>

namespace heddle {

void line_reader::forget_taken() {
  buffer_.erase(0, taken_);
  taken_ = 0;
}

task<bool> line_reader::read_more() {
  // One block of the drivers: the most that a single receive brings, with the default options.
  char bytes[4096];
  std::size_t got;
  if (pipe_.is_open()) {
    got = co_await pipe_.read_some(bytes);
  } else {
    got = co_await stream_.read_some(bytes);
  }
  buffer_.append(bytes, got);
  co_return got > 0;
}

task<std::string_view> line_reader::take_until(std::string_view delimiter, std::size_t limit) {
  HEDDLE_ASSERT(!delimiter.empty(), "take_until needs a delimiter of at least one byte");
  forget_taken();
  std::size_t from = 0;
  for (;;) {
    const std::size_t at = buffer_.find(delimiter, from);
    if (at != std::string::npos && at + delimiter.size() <= limit) {
      taken_ = at + delimiter.size();
      co_return std::string_view(buffer_).substr(0, taken_);
    }
    if (at != std::string::npos || buffer_.size() >= limit) detail::check_outcome(-E2BIG);
    // A delimiter may begin in what was searched already.
    from = buffer_.size() >= delimiter.size() ? buffer_.size() - delimiter.size() + 1 : 0;
    const bool more = co_await read_more();
    if (!more) detail::check_outcome(-EPIPE);
  }
}

task<std::string_view> line_reader::line(std::size_t limit) {
  std::string_view text = co_await take_until("\n", limit);
  text.remove_suffix(text.ends_with("\r\n") ? 2 : 1);
  co_return text;
}

task<std::string_view> line_reader::take(std::size_t count) {
  forget_taken();
  while (buffer_.size() < count) {
    const bool more = co_await read_more();
    if (!more) detail::check_outcome(-EPIPE);
  }
  taken_ = count;
  co_return std::string_view(buffer_).substr(0, count);
}

}  // namespace heddle
