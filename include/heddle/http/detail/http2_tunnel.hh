// SPDX-License-Identifier: MIT
// One stream of HTTP/2 as a stream of bytes in both directions, which an extended CONNECT opens
// (RFC 8441). Each end of a connection implements http2_tunnel, and make_http2_stream() makes a
// stream of it.
//
// For the parts of the library that speak HTTP/2; not for programs: it may change in any version.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "heddle/core/task.hh"
#include "heddle/io/address.hh"
#include "heddle/io/stream.hh"

namespace heddle::http {

/// One end of a tunnel. Thread: the connection's color. No function is called after close().
/// Fails: read() and write() throw failure with the connection's or the stream's error.
class http2_tunnel {
 public:
  virtual ~http2_tunnel() = default;

  /// The next bytes, valid until the next call; "" at the end. The peer may then send that many
  /// more.
  [[nodiscard]] virtual task<std::string_view> read() = 0;
  /// Sends all bytes, as the windows allow.
  [[nodiscard]] virtual task<> write(std::string_view bytes) = 0;
  /// Sends what the windows allow at once; gives how many bytes.
  [[nodiscard]] virtual std::size_t write_now(std::string_view bytes) = 0;
  /// Waits until write_now() may take bytes.
  [[nodiscard]] virtual task<> writable() = 0;
  /// Sends END_STREAM: no more is written.
  virtual void end() noexcept = 0;
  /// Ends the stream. `reset`: the peer sees an error instead of an end.
  virtual void close(bool reset) noexcept = 0;
  [[nodiscard]] virtual address peer() const noexcept = 0;
};

/// Makes a stream of one end of a tunnel. Fails: std::bad_alloc.
[[nodiscard]] stream make_http2_stream(std::shared_ptr<http2_tunnel> tunnel);

}  // namespace heddle::http
