// SPDX-License-Identifier: MIT
// One connection to the database, from its first message to its end (PostgreSQL manual, section
// "Message Flow").
//
// A session is in one of three states, which ReadyForQuery tells: idle (no transaction block; a
// transaction may exist for the statements of one Query, or up to Sync), open (between BEGIN and
// its end), failed (an error came in a block: only COMMIT and ROLLBACK are run, and both roll
// back). After an error in the extended protocol, messages are skipped up to Sync.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fakes/pg_core.hh"
#include "fakes/pg_error.hh"
#include "fakes/pg_execute.hh"
#include "heddle/core/deadline.hh"
#include "heddle/io/stream.hh"

namespace heddle::fakes::detail {

/// Thread: one color. Owns: its connection, statements, portals and transaction.
/// Fails: run() throws failure when the connection breaks or is cut, and operation_canceled when it
/// is cancelled or dropped.
class pg_session {
 public:
  pg_session(postgres_server::core& home, stream on, std::uint32_t number);
  pg_session(const pg_session&) = delete;
  pg_session& operator=(const pg_session&) = delete;
  ~pg_session();

  task<> run(bool full);

  /// Ends the delay before a statement (CancelRequest).
  void cancel_statement() noexcept;
  /// Resets the connection.
  void drop() noexcept;
  [[nodiscard]] bool dropped() const noexcept { return dropped_; }
  [[nodiscard]] bool is(std::uint32_t number, std::uint32_t secret) const noexcept {
    return number_ == number && secret_ == secret;
  }

 private:
  enum class block : std::uint8_t { idle, open, failed };
  /// The outcome of the messages before the first query.
  enum class start : std::uint8_t { ready, over, refused };

  struct prepared {
    std::optional<sql_statement> statement;  // empty for a text without one
    std::vector<std::uint32_t> types;
  };
  struct portal {
    std::optional<sql_statement> statement;
    std::vector<pg_value> values;
    std::vector<pg_column> columns;
    std::vector<std::uint32_t> formats;
    std::optional<pg_result> result = {};  // once it was run
    std::size_t next = 0;                  // the row that comes next
  };

  // Messages (pg_session.cc).
  task<start> begin(bool full);
  task<start> greet(const pg_message& first, bool full);
  task<bool> authenticate();
  void announce(const pg_startup& asked);
  task<start> refuse(const char* code, std::string text);
  task<std::optional<pg_message>> next_message(bool first);
  task<> handle(const pg_message& m);
  task<> flush();

  // The simple and the extended protocol (pg_protocol.cc).
  task<> simple_query(std::string_view body);
  task<> extended(const pg_message& m);
  void parse(std::string_view body);
  void bind(std::string_view body);
  void describe(std::string_view body);
  task<> execute(std::string_view body);
  void close(std::string_view body);
  task<> sync();
  task<> give_rows(pg_result& r, std::size_t& next, std::uint32_t most);
  void check_held(const portal& p) const;
  void report(const pg_error& e);
  void ready();

  // Statements and transactions (pg_statements.cc).
  task<pg_result> run_statement(const sql_statement& s, const std::vector<pg_value>& values);
  task<> wait_before_statement();
  pg_result begin_block(const sql_statement& s);
  task<pg_result> end_block(bool commits);
  task<> commit_transaction();
  void roll_back() noexcept;
  void forget_transaction() noexcept;
  pg_transaction& transaction();
  void check_not_failed(const sql_statement& s) const;
  void check_length(std::string_view sql) const;
  pg_result set(const sql_statement& s);
  pg_result show(const std::string& name) const;

  postgres_server::core& home_;
  stream on_;
  pg_reader in_;
  std::string out_;
  std::uint64_t sent_ = 0;  // bytes since the faults were set
  std::uint64_t faults_epoch_ = 0;
  std::uint32_t number_, secret_;
  std::map<std::string, prepared> statements_;
  std::map<std::string, portal> portals_;
  std::map<std::string, std::string> settings_;
  std::map<std::string, std::string> local_settings_;  // SET LOCAL in this transaction
  std::unique_ptr<pg_transaction> transaction_;
  std::optional<cancel_source> waiting_;  // while a statement waits
  block block_ = block::idle;
  bool read_only_ = false;  // the open block
  bool skipping_ = false;   // messages up to Sync
  bool dropped_ = false;
};

}  // namespace heddle::fakes::detail
