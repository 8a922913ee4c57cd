// SPDX-License-Identifier: MIT
// One stack with its connections and listeners: the side of functions that wait.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "heddle/io/address.hh"
#include "heddle/io/listener.hh"
#include "heddle/sched/dump_section.hh"
#include "heddle/tcp/stack.hh"
#include "net/connection.hh"
#include "net/pump.hh"

namespace heddle::net::detail {

/// Accepted connections of one port that no accept() has taken.
struct port_queue {
  std::deque<std::unique_ptr<connection>> waiting;
  std::deque<stream> local;  ///< connections that this program made to itself
  condition arrived;
  std::uint32_t local_max = 0;
  bool no_delay = true;
};

/// A written piece until its last byte is acknowledged. Copied bytes follow it.
struct held_piece {
  piece shared;

  [[nodiscard]] std::byte* copied() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
  /// Makes a piece with room for copied bytes. Throws std::bad_alloc.
  [[nodiscard]] static held_piece* make(std::size_t copied_bytes);
  static void destroy(held_piece* h) noexcept;
};

/// Thread: the color of its pump.
/// Owns: the stack. It outlives its connections.
class host final : public tcp::user, public tcp::piece_home, public dump_section {
 public:
  host(const tcp::stack_options& options, tcp::network& out, const tcp::ip_address& own, pump& p);
  ~host() override { leave(); }

  [[nodiscard]] tcp::stack& stack() noexcept { return stack_; }
  [[nodiscard]] const tcp::stack& stack() const noexcept { return stack_; }
  [[nodiscard]] const tcp::ip_address& own() const noexcept { return own_; }
  void stir() noexcept { pump_.stir(); }
  [[nodiscard]] bool is_beside_kernel() const noexcept { return pump_.is_beside_kernel(); }
  /// Notifies the connection when the stack has memory again. Throws std::bad_alloc.
  void wait_for_memory(connection& c) { want_memory_.push_back(&c); }
  void forget(const connection& c) noexcept { std::erase(want_memory_, &c); }

  /// Queues connections to a port. Throws failure: address_in_use.
  void open_port(std::uint16_t port, std::uint32_t backlog, port_queue& into);
  void close_port(std::uint16_t port) noexcept;
  /// Whether no port is open and no connection is left.
  [[nodiscard]] bool is_unused() const noexcept {
    return ports_.empty() && stack_.connection_count() == 0;
  }
  [[nodiscard]] std::uint16_t free_port() const;
  /// A connection of the program to its own listener at this port, without packets; a closed stream
  /// if there is no such listener, or if it has too many connections that no accept() has taken.
  [[nodiscard]] stream connect_locally(std::uint16_t port);

  // The stack's part of a dump.
  [[nodiscard]] std::string text() const override;
  [[nodiscard]] std::string json() const override;

  void accepted(tcp::connection c, std::uint16_t listener_port) noexcept override;
  void connected(tcp::connection c) noexcept override;
  void received(tcp::connection c, std::span<const std::byte> bytes,
                tcp::packet& from) noexcept override;
  void acknowledged(tcp::connection c, std::uint32_t bytes) noexcept override;
  void finished(tcp::connection c) noexcept override;
  void ended(tcp::connection c, std::uint64_t value, tcp::ending how) noexcept override;
  void eased() noexcept override;
  void released(std::uint64_t token) noexcept override;

 private:
  [[nodiscard]] connection* find(tcp::connection c) const noexcept;

  pump& pump_;
  tcp::ip_address own_;
  std::uint32_t dump_connections_max_;
  std::unordered_map<std::uint16_t, port_queue*> ports_;
  std::vector<connection*> want_memory_;
  tcp::stack stack_;  // dies first: it gives pieces back
};

[[nodiscard]] address to_address(const tcp::endpoint& e);
/// Converts an address to that of the stack. Fails: address_family_not_supported.
[[nodiscard]] tcp::endpoint to_endpoint(const address& a);

/// A listener for a port of the host, and a connection from it. `keep` keeps the host in use.
[[nodiscard]] listener listen_on(std::shared_ptr<host> keep, std::uint16_t port,
                                 std::uint32_t backlog, bool no_delay);
[[nodiscard]] task<stream> connect_from(std::shared_ptr<host> keep, address to);

}  // namespace heddle::net::detail
