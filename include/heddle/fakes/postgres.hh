// SPDX-License-Identifier: MIT
// A database for tests that speaks PostgreSQL's protocol 3.0 (PostgreSQL manual, chapter
// "Frontend/Backend Protocol"): tables of one key and one value, serializable transactions, and
// faults on request. It runs on each driver and as a node of a simulated cluster; with a folder it
// keeps what it has committed, also through a power failure. docs/reference/fakes.md lists the SQL.
//
//   fakes::postgres_server database({.folder = "/data"});
//   const tcp_listener door = tcp_listener::listen(address::any_v4(5432));
//   side.spawn(database.serve(door));
//   database.set_faults({.delay = 2s});
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/base/clock.hh"
#include "heddle/core/task.hh"
#include "heddle/fakes/postgres_options.hh"
#include "heddle/io/listener.hh"

namespace heddle::fakes {

/// Faults of all connections, from the call of set_faults() on.
struct postgres_faults {
  /// Connections are accepted and: served; reset at once; or told 57P03, as by a server that
  /// starts.
  enum class door : std::uint8_t { open, resets, starting };
  door connections = door::open;
  /// The time before each statement. A CancelRequest ends it with 57014; other faults do not end
  /// one that runs.
  nanoseconds delay{0};
  /// Each connection is reset when so many bytes have left on it, counted from set_faults().
  std::optional<std::uint64_t> cut_after = {};
  /// Answers are withheld, and sent when set_faults() says otherwise. A session whose answer waits
  /// reads no further messages.
  bool silent = false;
};

struct postgres_counters {
  std::uint64_t connections = 0;  ///< connections that came, refused ones included
  std::uint64_t statements = 0;   ///< statements that were run, failed ones included
  std::uint64_t commits = 0;      ///< commits of transactions that changed something
  std::uint64_t conflicts = 0;    ///< transactions that ended with 40001
  std::uint64_t cancels = 0;      ///< CancelRequests that named a session
};

/// Transactions are serializable, by optimistic concurrency control (Kung and Robinson 1981): the
/// first committer wins. A transaction that read or wrote a row, or read a table whole, and finds
/// at a statement or at its commit that another transaction has committed a change of it since its
/// own first statement, gets 40001 and must be run again. With a folder, a commit is answered when
/// its record is on the disk; at a start, records that are torn at the log's end are not taken. If
/// the log cannot be written, the commit gets 58030 and its outcome is unknown until a restart.
///
/// Thread: one color, that of serve().
/// Owns: the data in memory. It and the listener outlive serve(). One process uses a folder.
/// Cancel: serve() ends, with its connections; open transactions are rolled back.
/// Fails: serve() throws failure if the folder's log cannot be read, is damaged, or is no log;
///   set_faults() for a negative delay (invalid_argument).
class postgres_server {
 public:
  explicit postgres_server(postgres_options options = postgres_options());
  postgres_server(const postgres_server&) = delete;
  postgres_server& operator=(const postgres_server&) = delete;
  ~postgres_server();

  /// Reads the log, if that was not done, and answers until it is cancelled or the listener has
  /// finished.
  [[nodiscard]] task<> serve(const listener& door);

  void set_faults(postgres_faults faults);
  /// Resets all connections, as a server that crashes. Transactions whose commit was not answered
  /// may have been committed.
  void drop_connections() noexcept;

  /// The committed rows of a table, without those whose value is NULL. Empty if there is no such
  /// table.
  [[nodiscard]] std::map<std::string, std::string> rows(std::string_view table) const;
  [[nodiscard]] const postgres_counters& counters() const noexcept;
  [[nodiscard]] std::uint32_t connections_open() const noexcept;

  struct core;  ///< not for users

 private:
  std::unique_ptr<core> core_;
};

}  // namespace heddle::fakes
