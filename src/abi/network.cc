// SPDX-License-Identifier: MIT
// Listeners and connections for plain frames. All reads wait until the socket is readable and then
// take what is there, so a read that is withdrawn took nothing.
#include <algorithm>
#include <cstring>
#include <utility>

#include "abi/moved_conn.hh"
#include "abi/objects.hh"
#include "abi/waiting.hh"
#include "heddle/core/detail/message.hh"
#include "heddle/io/detail/runtime_tcp.hh"
#include "heddle/io/tcp.hh"
#include "heddle/io/unix.hh"

using namespace heddle;
using namespace heddle::abi;

namespace {

using readable_awaiter = detail::readable_awaiter;
using transfer_awaiter = detail::transfer_awaiter;
using writable_awaiter = detail::writable_awaiter;
using accept_awaiter = detail::accept_awaiter_of<tcp_stream>;
using detail::owned_number;
using detail::runtime_tcp;
using detail::socket_input;

std::int64_t code_of(const std::error_code& e) noexcept {
  return e.value() > 0 ? -e.value() : -EIO;
}

/// A socket with the type of the others. A handle of a connection or a listener has one
/// type, and only its address tells a Unix socket apart.
template <class Tcp>
Tcp as_tcp(descriptor&& from) noexcept {
  Tcp made;
  static_cast<descriptor&>(made) = std::move(from);
  return made;
}

/// The outcome of an awaiter that has ended, which goes.
template <class A>
std::int32_t outcome_of(worker& w, heddle_wait& at) noexcept {
  const std::int32_t outcome = stored<A>::of(at).outcome;
  stored<A>::end(at, w);
  return outcome;
}

/// Waits for something to read: HEDDLE_PARKED, 0, or an error.
std::int64_t wait_readable(heddle_worker* hw, heddle_conn* c, heddle_wait* at, heddle_frame* self) {
  worker& w = from(hw);
  conn_wait wait(c, at, self);
  if (const std::int64_t moved = come_here(hw, c, wait, self); moved != 0) return moved;
  const auto answer = [&](std::int32_t outcome) -> std::int64_t {
    if (outcome < 0) return reason(w, outcome);
    return outcome == 0 ? HEDDLE_EOF : 0;
  };
  if (at == nullptr && wait.kind() == nullptr) {
    const std::int32_t outcome = input_of(c).wait(*self, w);
    if (outcome == socket_input::parked) return HEDDLE_PARKED;
    if (outcome != socket_input::occupied) [[likely]]
      return answer(outcome);
  }
  return wait.record(w, [&](heddle_wait* in) {
    const std::int64_t status = ask<readable_awaiter>(
        hw, in, self, [&] { return borrowed_stream(c)->readable().operator co_await(); });
    return status != 0 ? status : answer(outcome_of<readable_awaiter>(w, *in));
  });
}

/// Appends what has arrived to a buffer with room; 0 when another reader was quicker.
std::size_t take_some(worker& w, heddle_conn* c, heddle_buffer& to) noexcept {
  if (to.begin != 0) {
    std::memmove(to.data, to.data + to.begin, to.end - to.begin);
    to.end -= to.begin;
    to.begin = 0;
  }
  const std::size_t count =
      input_of(c).read_now(byte_span(to.data + to.end, to.capacity - to.end), w);
  to.end += count;
  return count;
}

/// The answer of an operation whose awaiter has ended: 0 or an error.
template <class A>
std::int64_t answer_of(heddle_worker* hw, heddle_wait& at) noexcept {
  const std::int32_t outcome = outcome_of<A>(from(hw), at);
  return outcome < 0 ? reason(from(hw), outcome) : 0;
}

/// Runs a task that makes a connection, or asks whether it has ended.
template <class Make, class ToStream>
std::int64_t ask_conn(heddle_worker* hw, heddle_conn** out, heddle_wait* at, heddle_frame* self,
                      Make make_task, ToStream to_stream) noexcept {
  using made_by_task = typename decltype(make_task())::value_type;
  std::int64_t outcome = 0;
  const std::int64_t status =
      ask_task<made_by_task>(hw, at, self, make_task, [&](made_by_task got) {
        try {
          *out = conn_stream(to_stream(std::move(got))).release();
        } catch (...) {
          outcome = -ENOMEM;
        }
      });
  return status == 0 ? outcome : status;
}

/// The same for a connection of the runtime's tcp_source.
template <class Make>
std::int64_t ask_bridged(heddle_worker* hw, heddle_conn** out, heddle_wait* at, heddle_frame* self,
                         Make make_task) noexcept {
  return ask_conn(hw, out, at, self, make_task, [](owned_number end) {
    tcp_stream made(end.get());
    static_cast<void>(end.release());
    return made;
  });
}

}  // namespace

extern "C" {

std::int64_t heddle_address_parse(heddle_worker*, heddle_view host, std::uint16_t port,
                                  heddle_address* out) {
  const auto found = address::parse({host.data, host.len}, port);
  if (!found) return -EINVAL;
  const address a = found->with_port(port);
  static_assert(sizeof a == sizeof *out);
  std::memcpy(static_cast<void*>(out), static_cast<const void*>(&a), sizeof a);
  return 0;
}

std::int64_t heddle_listen(heddle_worker* hw, std::uint16_t port, heddle_view host,
                           heddle_listener** out) {
  const auto at = address::parse({host.data, host.len}, port);
  if (!at) return -EINVAL;
  try {
    if (const runtime_tcp* const net = runtime_tcp::here()) {
      if (!net->is_home()) return -EINVAL;  // the source belongs to the color of main
      *out = make<heddle_listener>(from(hw), net->listen(at->with_port(port)), net->home());
      return 0;
    }
    *out = make<heddle_listener>(from(hw), tcp_listener::listen(at->with_port(port)));
    return 0;
  } catch (const std::system_error& e) {
    return code_of(e.code());
  } catch (...) {
    return -ENOMEM;
  }
}
std::uint16_t heddle_listener_port(heddle_worker*, heddle_listener* l) {
  return l->home == no_color ? l->listener.local().port() : l->at.port();
}
void heddle_listener_close(heddle_worker* hw, heddle_listener* l) {
  worker& w = from(hw);
  if (l == nullptr || l->home == no_color || l->home == w.color) return drop(w, l);
  send_urgent_message(w, l->home, [l] { drop(worker::here(), l); });
}

std::int64_t heddle_accept(heddle_worker* hw, heddle_listener* l, heddle_conn** out,
                           heddle_wait* at, heddle_frame* self) {
  worker& w = from(hw);
  if (l->home != no_color)
    return ask_bridged(hw, out, at, self, [l] { return runtime_tcp::accept(l->door, l->home); });
  const std::int64_t status =
      ask<accept_awaiter>(hw, at, self, [&] { return l->listener.accept().operator co_await(); });
  if (status != 0) return status;
  result<tcp_stream> got = stored<accept_awaiter>::of(*at).await_result();
  stored<accept_awaiter>::end(*at, w);
  if (!got) return reason(w, code_of(got.error()));
  *out = conn_stream(std::move(*got)).release();
  return 0;
}

std::int64_t heddle_connect(heddle_worker* hw, heddle_address to, heddle_conn** out,
                            heddle_wait* at, heddle_frame* self) {
  address a;
  std::memcpy(static_cast<void*>(&a), &to, sizeof a);
  if (const runtime_tcp* const net = runtime_tcp::here())
    return ask_bridged(hw, out, at, self, [net, &a] { return net->connect(a); });
  return ask_conn(
      hw, out, at, self, [&a] { return tcp_connect(a); }, [](tcp_stream made) { return made; });
}

std::int64_t heddle_listen_unix(heddle_worker* hw, heddle_view path, heddle_listener** out) {
  try {
    unix_listener door = unix_listener::listen(std::string(path.data, path.len));
    *out = make<heddle_listener>(from(hw), as_tcp<tcp_listener>(std::move(door)));
    return 0;
  } catch (const std::system_error& e) {
    return code_of(e.code());
  } catch (...) {
    return -ENOMEM;
  }
}

std::int64_t heddle_connect_unix(heddle_worker* hw, heddle_view path, heddle_conn** out,
                                 heddle_wait* at, heddle_frame* self) {
  return ask_conn(
      hw, out, at, self, [&path] { return unix_connect(std::string(path.data, path.len)); },
      [](unix_stream made) { return as_tcp<tcp_stream>(std::move(made)); });
}

std::int64_t heddle_conn_number(heddle_conn* c) { return borrowed_stream(c)->number(); }

std::int64_t heddle_readable(heddle_worker* hw, heddle_conn* c, heddle_wait* at,
                             heddle_frame* self) {
  const std::int64_t status = wait_readable(hw, c, at, self);
  return status == HEDDLE_EOF ? 0 : status;  // the next read reports the end
}

std::int64_t heddle_ready(heddle_worker* hw, heddle_conn* c, std::int32_t which, heddle_wait* at,
                          heddle_frame* self) {
  if (which == heddle_mode_read) return heddle_readable(hw, c, at, self);
  conn_wait wait(c, at, self);
  if (const std::int64_t moved = come_here(hw, c, wait, self); moved != 0) return moved;
  return wait.record(from(hw), [&](heddle_wait* in) {
    const std::int64_t status = ask<writable_awaiter>(
        hw, in, self, [&] { return borrowed_stream(c)->writable().operator co_await(); });
    return status != 0 ? status : answer_of<writable_awaiter>(hw, *in);
  });
}

std::int64_t heddle_receive(heddle_worker* hw, heddle_conn* c, heddle_buffer** out, heddle_wait* at,
                            heddle_frame* self) {
  for (;;) {
    const std::int64_t status = wait_readable(hw, c, at, self);
    if (status != 0) return status;
    received in = borrowed_stream(c)->take();
    if (!in) continue;
    try {
      *out = make<block_buffer>(from(hw), std::move(in));
      return 0;
    } catch (...) {
      return -ENOMEM;
    }
  }
}

std::int64_t heddle_read(heddle_worker* hw, heddle_conn* c, heddle_buffer* to, std::int64_t* count,
                         heddle_wait* at, heddle_frame* self) {
  if (to->capacity == to->end - to->begin) return -ENOBUFS;
  for (;;) {
    const std::int64_t status = wait_readable(hw, c, at, self);
    if (status != 0) return status;
    const std::size_t got = take_some(from(hw), c, *to);
    if (got == 0) continue;
    *count = static_cast<std::int64_t>(got);
    return 0;
  }
}

std::int64_t heddle_read_more(heddle_worker* hw, heddle_conn* c, heddle_buffer* to, heddle_wait* at,
                              heddle_frame* self) {
  std::int64_t unused = 0;
  const std::int64_t status = heddle_read(hw, c, to, &unused, at, self);
  return status == -ENOBUFS ? -EMSGSIZE : status;
}

std::int64_t heddle_read_line(heddle_worker* hw, heddle_conn* c, heddle_buffer* to,
                              heddle_view* out, heddle_wait* at, heddle_frame* self) {
  if (to->line != 0) {
    // Drop the line that the call before has given.
    to->begin += to->line;
    to->line = 0;
  }
  for (bool asks = at == nullptr || at->kind == nullptr;; asks = true) {
    if (asks) {
      const char* const begin = to->data + to->begin;
      const std::size_t len = to->end - to->begin;
      if (const void* end = len == 0 ? nullptr : std::memchr(begin, '\n', len)) {
        to->line = static_cast<std::size_t>(static_cast<const char*>(end) - begin) + 1;
        *out = {begin, to->line};
        return 0;
      }
      if (len == to->capacity) return -EMSGSIZE;
    }
    std::int64_t unused = 0;
    const std::int64_t status = heddle_read(hw, c, to, &unused, at, self);
    if (status == HEDDLE_EOF && to->end != to->begin) {  // a last line without its end
      to->line = to->end - to->begin;
      *out = {to->data + to->begin, to->line};
      return 0;
    }
    if (status != 0) return status;
  }
}

std::int64_t heddle_write(heddle_worker* hw, heddle_conn* c, heddle_view what, heddle_wait* at,
                          heddle_frame* self) {
  conn_wait wait(c, at, self);
  if (const std::int64_t moved = come_here(hw, c, wait, self); moved != 0) return moved;
  worker& w = from(hw);
  if (wait.kind() == nullptr) {
    if (what.len == 0) return 0;
    if (w.current_context().canceled()) return reason(w, -ECANCELED);
    const sent_now sent = borrowed_stream(c)->try_write(byte_view(what.data, what.len));
    if (sent.complete(what.len)) return 0;
    what.data += sent.bytes;
    what.len -= sent.bytes;
  }
  return wait.record(w, [&](heddle_wait* in) {
    const std::int64_t status = ask<transfer_awaiter>(hw, in, self, [&] {
      return borrowed_stream(c)->write(byte_view(what.data, what.len)).operator co_await();
    });
    return status != 0 ? status : answer_of<transfer_awaiter>(hw, *in);
  });
}

std::int64_t heddle_shutdown(heddle_worker*, heddle_conn* c) {
  try {
    borrowed_stream(c)->shutdown_write();
    return 0;
  } catch (const std::system_error& e) {
    return code_of(e.code());
  }
}

void heddle_close(heddle_worker*, heddle_conn* c) {
  const conn_stream last(c);  // the last handle closes the connection, in the color that reads
}

}  // extern "C"
