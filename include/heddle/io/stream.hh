// SPDX-License-Identifier: MIT
// Bytes in both directions: what TCP connections, Unix sockets and socket pairs have in common.
// Partial transfers are the library's business. Servers use receive(): the data stands in a block
// of the driver's, and a connection that waits holds no buffer.
#pragma once

#include <concepts>
#include <string>

#include "heddle/io/descriptor.hh"
#include "heddle/io/received.hh"
#include "heddle/io/transfer.hh"

namespace heddle {

/// Limits of one stream.
struct stream_options {
  /// Blocks that may stand ready and untaken before the driver is told to stop receiving.
  std::uint8_t receive_window = 4;
};

/// Thread: one color. Reads complete in call order, writes too; a read and a write go on at once.
/// Owns: the connection, together with its copies.
/// Cancel: see transfer (io/transfer.hh) and receive_wait (io/received.hh).
/// Fails: connection_reset or broken_pipe when the peer is gone, never a signal.
///
///   char head[4];
///   std::size_t n = co_await conn.read(head);       // 4, or less at the end of the stream
///   co_await conn.write({"HTTP/1.1 ", status, "\r\n\r\n"});
class stream : public descriptor {
 public:
  stream() noexcept = default;

  /// Fills the buffer, or stops at the end of the stream with a smaller count.
  [[nodiscard]] transfer read(byte_span into) const noexcept {
    return transfer(state_, detail::reading(into));
  }
  /// The same; `count` is current at all times, also when it fails.
  [[nodiscard]] transfer read(byte_span into, std::size_t& count) const noexcept {
    count = 0;
    return transfer(state_, detail::reading(into, &count));
  }
  /// What there is, at least one byte; 0 at the end of the stream.
  [[nodiscard]] transfer read_some(byte_span into) const noexcept {
    return transfer(state_, detail::reading(into, nullptr, true));
  }

  /// Sends what leaves at once and gives how many bytes; never waits. 0 is no failure: the driver
  /// may gather what it sends (io_uring), others may stand before it. What is left is for write(),
  /// which also says what is wrong.
  [[nodiscard]] std::size_t try_write(byte_view bytes) const noexcept;
  /// The same for a head, which may be empty, and a body behind it.
  [[nodiscard]] std::size_t try_write(byte_view head, const piece& body) const noexcept;
  /// Whether try_write() sends this body without copying it: one that stands in pages (page_store)
  /// and is large. A full socket is then better waited for than written to.
  [[nodiscard]] bool sends_uncopied(const piece& body) const noexcept;
  /// Sends everything.
  [[nodiscard]] transfer write(byte_view bytes) const noexcept {
    return transfer(state_, detail::writing(bytes));
  }
  [[nodiscard]] transfer write(byte_view bytes, std::size_t& count) const noexcept {
    count = 0;
    return transfer(state_, detail::writing(bytes, &count));
  }
  /// One transfer; returns how many bytes were taken.
  [[nodiscard]] transfer write_some(byte_view bytes) const noexcept {
    return transfer(state_, detail::writing(bytes, nullptr, true));
  }
  [[nodiscard]] chain_transfer write(chain&& out) const noexcept {
    return chain_transfer(state_, {std::move(out)});
  }
  [[nodiscard]] chain_transfer write(chain&& out, std::size_t& count) const noexcept {
    count = 0;
    return chain_transfer(state_, {std::move(out), &count});
  }
  /// The texts one after another; they must stay until it has ended.
  [[nodiscard]] chain_transfer write(const text_list& texts) const;
  /// Keeps the string until its last byte has left.
  template <class S>
    requires std::same_as<S, std::string>
  [[nodiscard]] chain_transfer write(S&& text) const {
    return write(chain(std::move(text)));
  }

  /// The next data that arrives, without a copy; empty at the end of the stream.
  [[nodiscard]] receive_wait receive() const noexcept { return receive_wait(state_); }
  /// True when there is data, false at the end of the stream; takes nothing.
  [[nodiscard]] readable_wait readable() const noexcept { return readable_wait(state_); }

  /// What has arrived and nobody waits for, one block of it, or nothing. After readable() it is
  /// what made that true, unless somebody else took it.
  [[nodiscard]] received take() const noexcept;

  /// No more will be written: the peer sees the end of the stream. Fails as the system says.
  void shutdown_write() const;
  /// No more will be read.
  void shutdown_read() const;

 protected:
  using descriptor::descriptor;
};

}  // namespace heddle
