// SPDX-License-Identifier: MIT
// A buffer that grows to the longest line asked for; each byte is searched once.
#include "heddle/io/line_reader.hh"

#include <cerrno>

namespace heddle {
namespace {

constexpr std::size_t kept_bytes = 256;   // the most memory that an empty buffer keeps
constexpr std::size_t small_read = 256;   // from a pipe of which nothing is known
constexpr std::size_t large_read = 4096;  // from one that had more than that

}  // namespace

void line_reader::forget_taken() {
  buffer_.erase(0, taken_);
  taken_ = 0;
}

template <std::size_t Bytes>
task<std::size_t> line_reader::read_from_pipe() {
  char bytes[Bytes];
  const std::size_t got = co_await pipe_.read_some(bytes);
  buffer_.append(bytes, got);
  co_return got;
}

/// Reads more. While nothing has come, it holds little memory, because many connections may wait.
task<bool> line_reader::read_more() {
  if (buffer_.empty() && buffer_.capacity() > kept_bytes) std::string().swap(buffer_);
  if (!pipe_.is_open()) {
    const received in = co_await stream_.receive();
    buffer_.append(in.text());
    co_return !in.empty();
  }
  std::size_t got;
  if (comes_fast_) {
    got = co_await read_from_pipe<large_read>();
  } else {
    got = co_await read_from_pipe<small_read>();
  }
  comes_fast_ = got >= small_read;
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
