// SPDX-License-Identifier: MIT
// Bytes in both directions, over anything that carries them: a TCP connection, a Unix socket, a
// socket pair, or a layer of a program's own over another stream (io/layer.hh). The library takes
// care of partial transfers. Servers use receive(): the data is in a block on loan, and a
// connection that waits holds no buffer.
#pragma once

#include <concepts>
#include <memory>
#include <string>

#include "heddle/io/address.hh"
#include "heddle/io/descriptor.hh"
#include "heddle/io/detail/transfer.hh"
#include "heddle/io/received.hh"
#include "heddle/sched/driver_sockets.hh"

namespace heddle {

class stream_layer;

namespace detail {
template <class Stream>
class accept_awaiter_of;
}

/// The answer of stream::try_write().
struct [[nodiscard]] sent_now {
  std::size_t bytes = 0;   ///< taken: do not write them again
  bool flush_due = false;  ///< some, of this or an earlier call, have not left: see flush()
  /// Whether all `asked` bytes were taken and have left.
  [[nodiscard]] bool complete(std::size_t asked) const noexcept {
    return bytes == asked && !flush_due;
  }
};

/// Limits of one stream.
struct stream_options {
  /// Blocks that may be ready and not taken before the driver stops receiving: 1 to 127, other
  /// numbers count as the nearest of these.
  std::uint8_t receive_window = 4;
};

/// Thread: one color. Reads complete in call order, writes too; a read and a write go on at once.
/// Owns: the connection, together with its copies.
/// Cancel: see transfer (io/transfer.hh) and receive_wait (io/received.hh).
/// Fails: connection_reset or broken_pipe when the peer is gone, never a signal. A connection that
/// broke has no end: all bytes that came can be read, and then each read fails, with the system's
/// reason, or with connection_reset if another operation was told that.
/// A write that ends early (it fails, or its deadline or its task ends it) cuts the stream: a part
/// may have left, and bytes behind it would complete that part wrongly. See cut(). The forms that
/// tell how much has left do not cut it: write_some(), and write() with a counter.
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
  /// As above, with a counter: `count` is current at all times, also when the read fails.
  [[nodiscard]] transfer read(byte_span into, std::size_t& count) const noexcept {
    count = 0;
    return transfer(state_, detail::reading(into, &count));
  }
  /// Reads the bytes that are there, at least one; gives 0 at the end of the stream.
  [[nodiscard]] transfer read_some(byte_span into) const noexcept {
    return transfer(state_, detail::reading(into, nullptr, true));
  }

  /// Sends the bytes that leave at once and gives their number; never waits. 0 is no failure: the
  /// driver may gather sends (io_uring), or earlier writes may be queued. Send the rest by write(),
  /// which also reports errors. A layer such as TLS may take bytes that cannot leave at once, and
  /// then says that a flush is due:
  ///
  ///   const sent_now sent = conn.try_write(all);
  ///   if (!sent.complete(all.size())) co_await conn.write(all.subspan(sent.bytes));
  sent_now try_write(byte_view bytes) const noexcept;
  /// As above, for a head, which may be empty, and a body behind it.
  sent_now try_write(byte_view head, const piece& body) const noexcept;
  /// Whether a layer has taken bytes that have not left: by try_write(), or by a write with a
  /// counter that failed.
  [[nodiscard]] bool flush_due() const noexcept;
  /// Sends these bytes. Each write does so too, before its own bytes; also a write without bytes. A
  /// write_some() without bytes sends some of them: then ask flush_due() again.
  [[nodiscard]] transfer flush() const noexcept { return write(byte_view()); }
  /// Whether try_write() sends this body without copying it: a large one in pages (page_store), on
  /// a stream that hands memory to the kernel as it is. If the socket is then full, wait until it
  /// is writable() instead of calling write(), which copies.
  [[nodiscard]] bool sends_uncopied(const piece& body) const noexcept;
  /// Whether send_file_now() is of use: the bytes of a file may leave as they are.
  [[nodiscard]] bool sends_files() const noexcept;
  /// Sends a head, which may be empty, and behind it a part of a file that is in memory, without
  /// copying it; never waits. Gives how many bytes left, 0 where the file ends there, else -errno:
  /// -EAGAIN where the socket is full or other writes wait, -EOPNOTSUPP where !sends_files().
  [[nodiscard]] std::int64_t send_file_now(byte_view head, int file, std::uint64_t at,
                                           std::size_t count) const noexcept;
  /// Waits until there is room to send, behind all writes that were asked for before.
  [[nodiscard]] writable_wait writable() const noexcept { return writable_wait(state_); }
  /// Sends all bytes.
  [[nodiscard]] transfer write(byte_view bytes) const noexcept {
    return transfer(state_, detail::writing(bytes));
  }
  [[nodiscard]] transfer write(byte_view bytes, std::size_t& count) const noexcept {
    count = 0;
    return transfer(state_, detail::writing(bytes, &count));
  }
  /// Sends in one transfer; returns how many bytes were taken.
  [[nodiscard]] transfer write_some(byte_view bytes) const noexcept {
    return transfer(state_, detail::writing(bytes, nullptr, true));
  }
  /// As above with a counter, which includes bytes that a layer has taken before it failed. To
  /// give a peer time as long as it takes bytes, call this in a loop, with a deadline each time.
  [[nodiscard]] transfer write_some(byte_view bytes, std::size_t& count) const noexcept {
    count = 0;
    return transfer(state_, detail::writing(bytes, &count, true));
  }
  [[nodiscard]] chain_transfer write_some(chain&& out, std::size_t& count) const noexcept {
    count = 0;
    return chain_transfer(state_, {std::move(out), &count, true});
  }
  [[nodiscard]] chain_transfer write(chain&& out) const noexcept {
    return chain_transfer(state_, {std::move(out)});
  }
  [[nodiscard]] chain_transfer write(chain&& out, std::size_t& count) const noexcept {
    count = 0;
    return chain_transfer(state_, {std::move(out), &count});
  }
  /// Sends the texts one after another; they must stay until the transfer has ended.
  [[nodiscard]] chain_transfer write(const text_list& texts) const;
  /// Keeps the string until its last byte has left.
  template <class S>
    requires std::same_as<S, std::string>
  [[nodiscard]] chain_transfer write(S&& text) const {
    return write(chain(std::move(text)));
  }

  /// The next data that arrives, without a copy; empty at the end of the stream.
  [[nodiscard]] receive_wait receive() const noexcept { return receive_wait(state_); }
  /// Waits for data (true) or the end of the stream (false); takes no bytes.
  [[nodiscard]] readable_wait readable() const noexcept { return readable_wait(state_); }

  /// A block that has arrived and that no reader waits for, or nothing. After readable() gave true
  /// a block is there, unless another reader took it.
  [[nodiscard]] received take() const noexcept;

  /// Call it before a stream moves to another color: until detach() ends, the driver receives
  /// ahead of its readers, in the color that has read last. Received bytes stay, and the next read,
  /// in any color, takes them. Nothing may wait on the stream when it moves. Without detach(), use
  /// in another color is reported (wrong-color) and fails with device_or_resource_busy. Fails:
  /// operation_not_supported for a stream over a stream_layer, whose tasks belong to one color.
  [[nodiscard]] detach_wait detach() const noexcept { return detach_wait(state_); }

  /// The peer's address; none where the peer has none (a Unix socket), or the stream is closed or
  /// broken. An IPv4 address is given as such, also if the listener takes both versions.
  [[nodiscard]] address peer() const noexcept;

  /// Whether the peer has ended its side of the connection, also behind bytes that were not read;
  /// takes nothing and never waits. A reader learns of an end only when it comes to it, which may
  /// be never while it waits for something else. This asks the system, so do it now and then. Of a
  /// layer the number of bytes may be unknown. A peer's end may also not have arrived: its system
  /// sends it behind all bytes, and these wait while the receive buffer is full.
  [[nodiscard]] unread_input unread() const noexcept;

  /// Ends writing: the peer sees the end of the stream. Fails as the system says.
  void shutdown_write() const;
  /// Ends reading.
  void shutdown_read() const;
  /// Call it before the last write: its bytes and the end of the stream leave together, if the
  /// stream can do that. close() or shutdown_write() must follow soon.
  void end_with_last_write() const noexcept;
  /// Makes close() reset the connection: unsent bytes are dropped, and the peer sees an error
  /// instead of an end.
  void reset_on_close() const noexcept;
  /// Abandons a message that was begun and will not be completed. Nothing more is written: writes,
  /// shutdown_write() and writable() fail with broken_pipe, try_write() sends nothing, and close()
  /// resets the connection. Reading goes on. A cut cannot be undone.
  void cut() const noexcept;
  /// Whether the stream was cut, by cut() or by a write that ended early.
  [[nodiscard]] bool is_cut() const noexcept;

 protected:
  friend class detail::accept_awaiter_of<stream>;
  friend stream make_stream(std::unique_ptr<stream_layer> layer);
  friend stream_layer* layer_of(const stream& s) noexcept;
  using descriptor::descriptor;
};

}  // namespace heddle
