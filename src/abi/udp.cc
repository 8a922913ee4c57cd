// SPDX-License-Identifier: MIT
// Datagrams for plain frames. Each is a task beside the frame, with a buffer of its own.
#include "heddle/io/udp.hh"

#include "abi/byte_task.hh"

using namespace heddle;
using namespace heddle::abi;

struct heddle_udp {
  heddle_udp(udp_socket s, std::size_t most) noexcept : socket(std::move(s)), size(most) {}
  udp_socket socket;
  std::size_t size;
};

namespace {

constexpr std::int64_t datagram_max = 65'535;

struct arrived {
  arrived(byte_list b, const datagram& d) noexcept : bytes(std::move(b)), about(d) {}
  byte_list bytes;
  datagram about;
};

task<arrived> receive_one(udp_socket from, std::size_t size) {
  byte_list bytes(size);
  const datagram got = co_await from.receive_from(byte_span(bytes.data(), bytes.size()));
  bytes.resize(std::min(got.size, size));
  co_return arrived(std::move(bytes), got);
}

task<> send_one(udp_socket from, address to, std::string bytes) {
  const byte_view all(bytes.data(), bytes.size());
  co_await from.send_to(to, all);
}

}  // namespace

extern "C" {

std::int64_t heddle_udp_open(heddle_worker* w, std::uint16_t port, heddle_view host,
                             std::int64_t size, heddle_udp** out) {
  const auto at = address::parse({host.data, host.len}, port);
  if (!at || size < 1 || size > datagram_max) return -EINVAL;
  try {
    *out = make<heddle_udp>(from(w), udp_socket::bind(at->with_port(port)),
                            static_cast<std::size_t>(size));
    return 0;
  } catch (const std::system_error& e) {
    return status_of(e.code());
  } catch (...) {
    return -ENOMEM;
  }
}

std::uint16_t heddle_udp_port(heddle_worker*, heddle_udp* u) { return u->socket.local().port(); }

std::int64_t heddle_udp_receive(heddle_worker* w, heddle_udp* u, heddle_packet* out,
                                heddle_wait* at, heddle_frame* self) {
  std::int64_t made = 0;
  const std::int64_t status = ask_task<arrived>(
      w, at, self, [&] { return receive_one(u->socket, u->size); },
      [&](const arrived& got) {
        if (got.about.truncated) {
          made = -EMSGSIZE;
          return;
        }
        const char* const bytes = reinterpret_cast<const char*>(got.bytes.data());
        made = heddle_bytes_copy(w, {bytes, got.bytes.size()}, &out->data);
        std::memcpy(static_cast<void*>(&out->from), static_cast<const void*>(&got.about.from),
                    sizeof out->from);
      });
  return status == 0 ? made : status;
}

std::int64_t heddle_udp_send(heddle_worker* w, heddle_udp* u, heddle_address to, heddle_view what,
                             heddle_wait* at, heddle_frame* self) {
  return ask_task<void>(
      w, at, self,
      [&] {
        address a;
        std::memcpy(static_cast<void*>(&a), &to, sizeof a);
        return send_one(u->socket, a, text_in(what));
      },
      [] {});
}

void heddle_udp_close(heddle_worker* w, heddle_udp* u) { drop(from(w), u); }

}  // extern "C"
