// SPDX-License-Identifier: MIT
// UDP: datagrams, each sent and received whole.
//
//   udp_socket s = udp_socket::bind(address::loopback(0));
//   datagram got = co_await s.receive_from(buffer);     // got.size, got.from, got.truncated
//   co_await s.send_to(got.from, reply);
#pragma once

#include <memory>

#include "heddle/io/address.hh"
#include "heddle/io/buffer.hh"
#include "heddle/io/descriptor.hh"
#include "heddle/io/detail/descriptor_call.hh"

namespace heddle {

struct datagram {
  std::size_t size = 0;    ///< bytes in the buffer, or sent
  address from;            ///< the sender
  bool truncated = false;  ///< the datagram was larger than the buffer
};

namespace detail {

struct datagram_asked {
  byte_span bytes;
  address to;
  bool write = false;
};

class datagram_awaiter : public lane_awaiter<operation> {
 public:
  datagram_awaiter(pinned_state&& on, datagram_asked&& asked);
  ~datagram_awaiter();

  datagram await_resume() const {
    check_outcome(outcome);
    return value();
  }
  [[nodiscard]] result<datagram> await_result() const {
    if (outcome < 0) return std::unexpected(kernel_error(outcome));
    return value();
  }

  /// The lane calls this before the operation is submitted.
  void prepare() noexcept;
  [[nodiscard]] bool step(std::int64_t got) noexcept;

 private:
  struct message;  // the system's description, in a cell of its own
  [[nodiscard]] datagram value() const;

  std::unique_ptr<message> message_;
};

}  // namespace detail

/// Sends or receives one datagram. Cancel: ends when the driver has let go.
using datagram_wait = detail::descriptor_call<detail::datagram_awaiter, detail::datagram_asked>;

/// Thread: one color. Owns: the socket, together with its copies.
class udp_socket : public descriptor {
 public:
  udp_socket() noexcept = default;
  /// Binds a socket. Port 0 picks a free port. Fails as the system says.
  [[nodiscard]] static udp_socket bind(const address& on);

  [[nodiscard]] datagram_wait receive_from(byte_span into) const;
  [[nodiscard]] datagram_wait send_to(const address& to, byte_view bytes) const;
  [[nodiscard]] address local() const;

 private:
  using descriptor::descriptor;
};

}  // namespace heddle
