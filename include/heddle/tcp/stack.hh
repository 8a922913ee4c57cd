// SPDX-License-Identifier: MIT
// One TCP stack: packets go in, packets come out, and a user is told what happened. It makes no
// system call and reads no clock, so a whole network of stacks runs in one test, the same way each
// time.
//
//   stack s(options, device, user);
//   s.add_address(*ip_address::parse("10.0.0.1"));
//   s.listen(80);
//   loop: s.input(packet, now) for each packet; s.advance(now); s.flush(now);
//         sleep until s.next_due() or a packet
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "heddle/base/error.hh"
#include "heddle/tcp/options.hh"
#include "heddle/tcp/packet.hh"
#include "heddle/tcp/segment.hh"
#include "heddle/tcp/state.hh"

namespace heddle::tcp {

struct core;

/// The decision of a filter about a segment.
enum class verdict : std::uint8_t { pass, drop, reset };

/// Called when something happens on a connection. A function may call any operation of the stack,
/// on this connection and on others, but for input(), advance() and flush().
class user {
 public:
  /// Called when a peer's connection to a listener is open.
  virtual void accepted(connection c, std::uint16_t listener_port) noexcept = 0;
  /// Called when connect() has succeeded.
  virtual void connected(connection c) noexcept = 0;
  /// Called with the next bytes of the stream, which `from` holds. To read them later, retain() it,
  /// and call stack::consumed() once they are no longer needed; until then they narrow the window.
  virtual void received(connection c, std::span<const std::byte> bytes, packet& from) noexcept = 0;
  /// Called when written bytes were acknowledged; the send queue has room.
  virtual void acknowledged(connection c, std::uint32_t bytes) noexcept = 0;
  /// Called when the peer sends no more.
  virtual void finished(connection c) noexcept = 0;
  /// Called when the connection is over; its name is then invalid, and `value` is that of
  /// set_user(). Also ends a connect() that failed.
  virtual void ended(connection c, std::uint64_t value, ending how) noexcept = 0;
  /// Called when there is memory again after room() or write() had refused for lack of it.
  virtual void eased() noexcept {}

 protected:
  ~user() = default;
};

/// Thread: one.
/// Owns: its connections. Packets and pieces stay their homes'.
/// Cancel: abort().
/// Fails: connect() and write() by their results; a connection by user::ended().
class stack {
 public:
  stack(const stack_options& options, network& out, user& events);
  ~stack();
  stack(const stack&) = delete;
  stack& operator=(const stack&) = delete;

  /// Adds an address of this host; at most 256.
  void add_address(const ip_address& a);
  /// Takes connections to a port, of all addresses. False: the port is taken.
  bool listen(std::uint16_t port, std::uint32_t backlog = 4096);
  /// Closes a listener. Connections that are opening are reset; open ones stay.
  void unlisten(std::uint16_t port);
  /// The listener's accepted connections that take_accepted() has not yet been called for are
  /// bounded by its backlog.
  void take_accepted(connection c) noexcept;

  /// Opens a connection. With port 0 in `local` the stack chooses one (RFC 6056). The SYN leaves at
  /// the next flush.
  [[nodiscard]] result<connection> connect(const endpoint& local, const endpoint& remote,
                                           instant now);
  /// Queues bytes by reference. False: the queue is full or the side is closed, and the piece is
  /// not taken.
  [[nodiscard]] bool write(connection c, const send_piece& piece);
  /// The largest piece that write() would take now. If memory is the reason that it is 0,
  /// user::eased() tells when there is some.
  [[nodiscard]] std::size_t room(connection c);
  /// The bytes that a connection may have written and not acknowledged now.
  [[nodiscard]] std::uint32_t send_queue_limit(connection c) const noexcept;
  /// Says that the user no longer needs this many of its received bytes.
  void consumed(connection c, std::uint32_t bytes);
  /// Sends FIN after what was written; the other direction stays open.
  void finish(connection c);
  /// finish(), and reads no more: data that comes later is answered with a reset (RFC 1122 section
  /// 4.2.2.13). user::ended() tells the end.
  void close(connection c);
  /// Ends the connection at once with a reset.
  void abort(connection c);

  /// Nagle's algorithm (RFC 9293 section 3.7.4); on at first.
  void set_nagle(connection c, bool on);
  void set_keepalive(connection c, bool on, instant now);
  void set_user(connection c, std::uint64_t value);
  [[nodiscard]] std::uint64_t get_user(connection c) const;
  [[nodiscard]] bool alive(connection c) const noexcept;
  [[nodiscard]] std::optional<connection_info> info(connection c) const;
  /// The connections whose bytes have not moved for the longest time, then those with the longest
  /// round trip. It reads all connections.
  [[nodiscard]] std::vector<connection_info> slowest(std::size_t count, instant now) const;
  /// Connections by state; for `listen` the listeners, for `time_wait` the records.
  [[nodiscard]] std::array<std::size_t, state_count> count_states() const;

  /// Looks at each sound segment before the table of connections does. It must not call the stack.
  using filter = verdict (*)(void* context, const segment& s, instant now) noexcept;
  void set_filter(filter f, void* context) noexcept;

  /// Sees the state of each busy connection after it has sent what it may. It must not call the
  /// stack.
  using watcher = void (*)(void* context, const connection_info& i, instant now);
  void set_watcher(watcher w, void* context) noexcept;

  /// Takes a packet that has arrived. The caller keeps its own reference. Answers wait for flush(),
  /// except answers that must leave at once.
  void input(packet& p, instant now);
  /// Runs the timers that are due.
  void advance(instant now);
  /// Sends all that may be sent. Call it once after a batch of input() and writes.
  void flush(instant now);
  /// The time of the next advance(); may be too early, never too late.
  [[nodiscard]] instant next_due() const noexcept;

  [[nodiscard]] const stack_counters& counters() const noexcept;
  [[nodiscard]] memory_state memory() const noexcept;
  [[nodiscard]] std::size_t connection_count() const noexcept;
  [[nodiscard]] std::size_t time_wait_count() const noexcept;
  /// Connections that have data in flight, unsent or out of order: those with a second block.
  [[nodiscard]] std::size_t busy_count() const noexcept;
  /// Bytes of memory for each idle connection, its share of the table included.
  [[nodiscard]] static std::size_t idle_connection_bytes() noexcept;

 private:
  std::unique_ptr<core> core_;
};

}  // namespace heddle::tcp
