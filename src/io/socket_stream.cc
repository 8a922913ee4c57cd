// SPDX-License-Identifier: MIT
// A socket's part of a stream: sending without a wait, its peer, and how it ends.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <span>

#include "io/socket_name.hh"
#include "io/socket_state.hh"
#include "io/state_kinds.hh"

namespace heddle::detail {
namespace {

::iovec entry_of(byte_view bytes) noexcept {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

std::int64_t send_file(descriptor_state& s, byte_view head, int file, std::uint64_t at,
                       std::size_t count, worker& w) noexcept {
  const std::int64_t sent =
      w.io->send_file_now(s.fd.number(), entry_of(head), file, at, count, s.never_waits);
  s.note_result(sent);
  return sent;
}

/// Sends these pieces at once. A write that follows reports an error, if the system still has it.
sent_now send_pieces(descriptor_state& s, std::span<const ::iovec> pieces, driver& io) noexcept {
  const std::int64_t sent = io.send_now(s.fd.number(), pieces.data(), pieces.size());
  s.note_result(sent);
  return {sent > 0 ? static_cast<std::size_t>(sent) : 0};
}

sent_now try_write(descriptor_state& s, byte_view head, const piece& body, worker& w) noexcept {
  driver& io = *w.io;
  if (body.empty()) {
    const ::iovec only = entry_of(head);
    return send_pieces(s, std::span(&only, 1), io);
  }
  const ::iovec both[] = {entry_of(head), entry_of(body.bytes())};
  if (const file_place from = body.place(); from && body.size() >= io.send_file_from()) {
    const std::int64_t left = send_file(s, head, from.file, from.at, body.size(), w);
    return {left > 0 ? static_cast<std::size_t>(left) : 0};
  }
  return send_pieces(s, std::span(both).subspan(head.empty() ? 1 : 0), io);
}

std::size_t send_file_from(const descriptor_state&, worker& w) noexcept {
  return w.io->send_file_from();
}

void set_option(descriptor_state& s, int level, int option, const void* value,
                unsigned size) noexcept {
  // Failures are ignored: not every kind of socket has the option, and none needs it.
  static_cast<void>(driver_here().set_option(s.fd.number(), level, option, value, size));
}

void reset_on_close(descriptor_state& s) noexcept {
  constexpr ::linger at_once{.l_onoff = 1, .l_linger = 0};
  set_option(s, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

}  // namespace

const stream_functions socket_stream_functions = {
    .try_write = &try_write,
    .flush_due = nullptr,
    .send_file = &send_file,
    .send_file_from = &send_file_from,
    .take = [](descriptor_state& s,
               worker& w) noexcept { return static_cast<socket_state&>(s).take(w); },
    .shutdown = [](descriptor_state& s,
                   int how) noexcept { return driver_here().shutdown(s.fd.number(), how); },
    .peer =
        [](const descriptor_state& s) noexcept {
          return socket_name(s.fd.number(), &driver::peer_name);
        },
    .unread =
        [](const descriptor_state& s) noexcept {
          return static_cast<const socket_state&>(s).unread();
        },
    .end_with_last_write =
        [](descriptor_state& s) noexcept {
          // Bytes that do not fill a segment are held back and leave in one segment with the end;
          // without an end the system sends it after 200 ms.
          constexpr int on = 1;
          set_option(s, IPPROTO_TCP, TCP_CORK, &on, sizeof on);
        },
    .reset_on_close = &reset_on_close,
    .cut = &reset_on_close,
};

}  // namespace heddle::detail
