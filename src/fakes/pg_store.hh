// SPDX-License-Identifier: MIT
// The committed rows of the database, and transactions over them by optimistic concurrency control:
// a transaction collects its writes, and is checked against the commits since its first statement.
//
// One map holds the newest committed version of each row with the number of the commit that made
// it. A transaction remembers the number of the last commit at its begin. If it comes to a row with
// a higher number, it fails with 40001 instead of reading an older version. So whatever a
// transaction has read was true at its begin; if at its commit that is still true, it is as if all
// of it happened at the commit, in the order of commits. A transaction without writes needs no
// check at its end. Removed rows stay as tombstones as long as a transaction is open that began
// before.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fakes/pg_message.hh"
#include "heddle/fakes/postgres_options.hh"

namespace heddle::fakes::detail {

/// A row's place. The table "" is the catalog: a row for each table, its name, and as the value the
/// names of its two columns with a zero byte between them.
struct pg_place {
  std::string table, key;
  friend auto operator<=>(const pg_place&, const pg_place&) = default;
};

/// A row of a table, as transactions see it: nullopt if there is none.
using pg_row = std::optional<pg_value>;
using pg_changes = std::map<pg_place, pg_row>;

class pg_transaction;

/// Thread: one color. Owns: the rows. It outlives its transactions.
class pg_store {
 public:
  explicit pg_store(const postgres_options& options) : options_(options) {}
  pg_store(const pg_store&) = delete;
  pg_store& operator=(const pg_store&) = delete;

  /// Fails: pg_error(53100) if the changes would exceed rows_max or data_bytes_max.
  void check_room(const pg_changes& changes) const;
  /// Makes the changes a commit.
  void apply(const pg_changes& changes);

  [[nodiscard]] std::map<std::string, std::string> rows(const std::string& table) const;
  [[nodiscard]] std::size_t open_transactions() const noexcept { return begins_.size(); }
  [[nodiscard]] const postgres_options& options() const noexcept { return options_; }

 private:
  friend class pg_transaction;
  struct version {
    pg_row row;
    std::uint64_t commit = 0;
  };
  struct sums {
    std::uint64_t rows = 0, tables = 0, bytes = 0;
  };
  [[nodiscard]] sums sums_after(const pg_changes& changes) const;
  void forget_tombstones();

  const postgres_options& options_;
  std::map<pg_place, version> versions_;
  std::map<std::string, std::uint64_t> table_commits_;  // the last commit that changed each table
  std::multiset<std::uint64_t> begins_;                 // begins of open transactions
  std::deque<std::pair<std::uint64_t, pg_place>> tombstones_;
  std::uint64_t last_commit_ = 0;
  sums sums_;
};

/// Thread: the store's color. Owns: its place among the open transactions, until it ends.
/// Fails: pg_error: 40001 for a conflict, 54000 beyond transaction_rows_max and
/// transaction_bytes_max.
class pg_transaction {
 public:
  explicit pg_transaction(pg_store& store);
  pg_transaction(const pg_transaction&) = delete;
  pg_transaction& operator=(const pg_transaction&) = delete;
  ~pg_transaction();

  [[nodiscard]] pg_row read(const pg_place& at);
  /// All rows of a table, in the order of their keys' bytes.
  [[nodiscard]] std::vector<std::pair<std::string, pg_value>> scan(const std::string& table);
  /// Sets a row, or removes it (nullopt). Counts as a read, too.
  void write(const pg_place& at, pg_row row);

  [[nodiscard]] const pg_changes& changes() const noexcept { return writes_; }
  /// Fails if a commit since the begin has changed anything that was read or written.
  void validate() const;
  [[nodiscard]] const postgres_options& options() const noexcept { return store_.options_; }

 private:
  void check(const pg_place& at) const;
  void check(const std::string& table) const;
  void note(const pg_place& at);
  void count_bytes(std::uint64_t more);

  pg_store& store_;
  std::uint64_t begin_;
  std::set<pg_place> reads_;
  std::set<std::string> scans_;
  pg_changes writes_;
  std::uint64_t bytes_ = 0;  // size of reads_ and of the values in writes_
};

/// Fails: pg_error(54000) if more bytes are held than transaction_bytes_max; `what` holds them.
void check_bytes_held(const postgres_options& options, std::uint64_t bytes, const char* what);

}  // namespace heddle::fakes::detail
