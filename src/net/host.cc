// SPDX-License-Identifier: MIT
// Brings the events of a stack to its connections.
#include "net/host.hh"

#include <netinet/in.h>

#include <cstring>
#include <new>

#include "heddle/base/error.hh"
#include "heddle/io/unix.hh"
#include "heddle/tcp/report.hh"

namespace heddle::net::detail {

held_piece* held_piece::make(std::size_t copied_bytes) {
  return new (::operator new(sizeof(held_piece) + copied_bytes)) held_piece();
}

void held_piece::destroy(held_piece* h) noexcept {
  h->~held_piece();
  ::operator delete(h);
}

namespace {

/// Counts the memory that a stream keeps beside the stack's blocks.
tcp::stack_options with_user_bytes(tcp::stack_options o) noexcept {
  constexpr std::uint32_t stream_bytes = 192;  // a stream's layer and its shared state
  o.user_bytes_each += static_cast<std::uint32_t>(sizeof(connection)) + stream_bytes;
  return o;
}

}  // namespace

host::host(const tcp::stack_options& options, tcp::network& out, const tcp::ip_address& own,
           pump& p)
    : dump_section("tcp"),
      pump_(p),
      own_(own),
      dump_connections_max_(options.dump_connections_max),
      stack_(with_user_bytes(options), out, *this) {
  stack_.add_address(own);
}

std::string host::text() const {
  return tcp::report_text(stack_, own_.text(), pump::now(), dump_connections_max_);
}
std::string host::json() const {
  return tcp::report_json(stack_, own_.text(), pump::now(), dump_connections_max_);
}

connection* host::find(tcp::connection c) const noexcept {
  return reinterpret_cast<connection*>(static_cast<std::uintptr_t>(stack_.get_user(c)));
}

void host::open_port(std::uint16_t port, std::uint32_t backlog, port_queue& into) {
  if (ports_.contains(port) || !stack_.listen(port, backlog))
    throw failure(std::make_error_code(std::errc::address_in_use),
                  "port " + std::to_string(port) + " of " + own_.text());
  into.local_max = backlog;
  ports_.emplace(port, &into);
  stir();
}

void host::close_port(std::uint16_t port) noexcept {
  stack_.unlisten(port);
  ports_.erase(port);
  stir();
}

stream host::connect_locally(std::uint16_t port) {
  const auto at = ports_.find(port);
  if (at == ports_.end() || at->second->local.size() >= at->second->local_max) return {};
  auto [ours, listeners] = unix_pair();
  at->second->local.push_back(std::move(listeners));
  at->second->arrived.notify_one();
  return std::move(ours);
}

std::uint16_t host::free_port() const {
  for (std::uint16_t port = 49152; port != 0; ++port)
    if (!ports_.contains(port)) return port;
  throw failure(std::make_error_code(std::errc::address_not_available), "no port is free");
}

void host::accepted(tcp::connection c, std::uint16_t listener_port) noexcept {
  const auto at = ports_.find(listener_port);
  if (at == ports_.end()) {
    stack_.abort(c);
    return;
  }
  port_queue& q = *at->second;
  try {
    auto made = std::make_unique<connection>(*this);
    connection& kept = *made;
    q.waiting.push_back(std::move(made));
    kept.is_named(c);
    kept.is_open();
  } catch (const std::bad_alloc&) {
    stack_.abort(c);
    return;
  }
  if (q.no_delay) stack_.set_nagle(c, false);
  q.arrived.notify_one();
}

void host::connected(tcp::connection c) noexcept {
  if (connection* const x = find(c)) x->is_open();
}
void host::received(tcp::connection c, std::span<const std::byte> bytes, tcp::packet&) noexcept {
  if (connection* const x = find(c)) x->arrived(bytes);
}
void host::acknowledged(tcp::connection c, std::uint32_t bytes) noexcept {
  if (connection* const x = find(c)) x->acknowledged(bytes);
}
void host::finished(tcp::connection c) noexcept {
  if (connection* const x = find(c)) x->peer_finished();
}
void host::ended(tcp::connection, std::uint64_t value, tcp::ending how) noexcept {
  if (value != 0) reinterpret_cast<connection*>(static_cast<std::uintptr_t>(value))->has_ended(how);
}
void host::eased() noexcept {
  std::vector<connection*> waiting;
  waiting.swap(want_memory_);
  for (connection* const c : waiting) c->has_memory();
}
void host::released(std::uint64_t token) noexcept {
  held_piece::destroy(reinterpret_cast<held_piece*>(static_cast<std::uintptr_t>(token)));
}

address to_address(const tcp::endpoint& e) {
  if (e.address.is_v4()) {
    ::sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(e.port);
    std::memcpy(&in.sin_addr, e.address.bytes.data() + 12, 4);
    return address::from(reinterpret_cast<const ::sockaddr*>(&in), sizeof in).value();
  }
  ::sockaddr_in6 in{};
  in.sin6_family = AF_INET6;
  in.sin6_port = htons(e.port);
  std::memcpy(&in.sin6_addr, e.address.bytes.data(), 16);
  return address::from(reinterpret_cast<const ::sockaddr*>(&in), sizeof in).value();
}

tcp::endpoint to_endpoint(const address& a) {
  const auto ip = tcp::ip_address::parse(a.unmapped().host());
  if (!ip) throw failure(std::make_error_code(std::errc::address_family_not_supported));
  return {*ip, a.port()};
}

}  // namespace heddle::net::detail
