// SPDX-License-Identifier: MIT
// Pipes: bytes from one end to the other, within the process or with a child.
//
//   pipe_pair ends = make_pipe();
//   co_await ends.writer.write("hello");
//   ends.writer.close();
//   std::size_t n = co_await ends.reader.read(buffer);    // 5: the end came first
#pragma once

#include <string>

#include "heddle/io/descriptor.hh"
#include "heddle/io/detail/transfer.hh"

namespace heddle {

struct pipe_pair;

/// Thread: one color. Reads complete in call order. Owns: the end, together with its copies.
class pipe_reader : public descriptor {
 public:
  pipe_reader() noexcept = default;
  /// Takes over the reading end of a pipe, which must not block. Throws when there is no memory.
  explicit pipe_reader(int fd);

  /// Fills the buffer, or stops at the end with a smaller count.
  [[nodiscard]] transfer read(byte_span into) const noexcept {
    return transfer(state_, detail::reading(into));
  }
  /// As above, with a counter: `count` is current at all times, also when the read fails.
  [[nodiscard]] transfer read(byte_span into, std::size_t& count) const noexcept {
    count = 0;
    return transfer(state_, detail::reading(into, &count));
  }
  /// Reads the bytes that are there, at least one; gives 0 at the end.
  [[nodiscard]] transfer read_some(byte_span into) const noexcept {
    return transfer(state_, detail::reading(into, nullptr, true));
  }
};

/// Thread: one color. Writes complete in call order. Owns: the end, together with its copies.
/// Fails: broken_pipe when the reading end is closed everywhere, never a signal.
class pipe_writer : public descriptor {
 public:
  pipe_writer() noexcept = default;
  /// Takes over the writing end of a pipe, which must not block. Throws when there is no memory.
  explicit pipe_writer(int fd);

  [[nodiscard]] transfer write(byte_view bytes) const noexcept {
    return transfer(state_, detail::writing(bytes));
  }
  [[nodiscard]] transfer write(byte_view bytes, std::size_t& count) const noexcept {
    count = 0;
    return transfer(state_, detail::writing(bytes, &count));
  }
  [[nodiscard]] transfer write_some(byte_view bytes) const noexcept {
    return transfer(state_, detail::writing(bytes, nullptr, true));
  }
  [[nodiscard]] chain_transfer write(chain&& out) const noexcept {
    return chain_transfer(state_, {std::move(out)});
  }
  /// Keeps the string until its last byte has left.
  template <class S>
    requires std::same_as<S, std::string>
  [[nodiscard]] chain_transfer write(S&& text) const {
    return write(chain(std::move(text)));
  }
};

/// The two ends of a new pipe.
struct pipe_pair {
  pipe_pair(pipe_reader r, pipe_writer w) noexcept : reader(std::move(r)), writer(std::move(w)) {}
  pipe_reader reader;
  pipe_writer writer;
};

/// Makes a pipe. Throws failure if descriptors run out.
[[nodiscard]] pipe_pair make_pipe();

}  // namespace heddle
