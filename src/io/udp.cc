// SPDX-License-Identifier: MIT
// Datagrams by sendmsg and recvmsg.
#include "heddle/io/udp.hh"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "io/state_kinds.hh"

namespace heddle {

namespace detail {

struct datagram_awaiter::message {
  msghdr header{};
  iovec piece{};
  sockaddr_storage name{};
};

namespace {
const wait_kind datagram_kind{"datagram", &cancel_entry<datagram_awaiter>};
}  // namespace

const entry_functions message_functions = {
    .wait_of = &wait_in<datagram_awaiter>,
    .operation_of = &operation_in<datagram_awaiter>,
    .run = &run_steps<datagram_awaiter>,
};

datagram_awaiter::datagram_awaiter(pinned_state&& on, datagram_asked&& asked)
    : lane_awaiter(std::move(on), lane_role::message, asked.write, extent::all, datagram_kind,
                   asked.write ? op_code::send_msg : op_code::receive_msg, -1,
                   &step_completed<datagram_awaiter>),
      message_(std::make_unique<message>()) {
  message_->piece = {asked.bytes.data(), asked.bytes.size()};
  if (!write) return;
  std::memcpy(&message_->name, asked.to.native(), asked.to.native_len());
  message_->header.msg_namelen = asked.to.native_len();
}

datagram_awaiter::~datagram_awaiter() = default;

void datagram_awaiter::prepare() noexcept {
  fd = state->fd.number();
  message_->header.msg_name = &message_->name;
  if (!write) message_->header.msg_namelen = sizeof message_->name;
  message_->header.msg_iov = &message_->piece;
  message_->header.msg_iovlen = 1;
  data = &message_->header;
  flags = 0;
}

bool datagram_awaiter::step(std::int64_t got) noexcept {
  outcome = static_cast<std::int32_t>(got);
  return true;
}

datagram datagram_awaiter::value() const {
  datagram d;
  d.size = static_cast<std::size_t>(outcome);
  if (write) return d;
  d.truncated = (message_->header.msg_flags & MSG_TRUNC) != 0;
  if (const auto from = address::from(reinterpret_cast<const ::sockaddr*>(&message_->name),
                                      message_->header.msg_namelen))
    d.from = *from;
  return d;
}

}  // namespace detail

udp_socket udp_socket::bind(const address& on) {
  driver& d = driver_here();
  const int fd = d.socket(on.family(), SOCK_DGRAM, 0);
  if (fd < 0) throw failure(kernel_error(fd), "cannot make a socket for " + on.to_string());
  if (const int error = d.bind(fd, on.native(), on.native_len()); error < 0) {
    d.close(fd, worker::here());
    throw failure(kernel_error(error), "cannot bind to " + on.to_string());
  }
  return udp_socket(detail::descriptor_state::make<detail::descriptor_state>(
      fd, detail::descriptor_kind::datagram));
}

datagram_wait udp_socket::receive_from(byte_span into) const {
  return datagram_wait(state_, {into, address(), false});
}
datagram_wait udp_socket::send_to(const address& to, byte_view bytes) const {
  const byte_span from{const_cast<std::byte*>(bytes.data()), bytes.size()};
  return datagram_wait(state_, {from, to, true});
}

address udp_socket::local() const {
  sockaddr_storage native;
  unsigned len = sizeof native;
  detail::check_outcome(
      driver_here().local_name(number(), reinterpret_cast<::sockaddr*>(&native), &len));
  const auto known = address::from(reinterpret_cast<const ::sockaddr*>(&native), len);
  return known ? *known : address();
}

}  // namespace heddle
