// SPDX-License-Identifier: MIT
// Rows and transactions of the database; pg_store.hh explains how they stay serializable.
#include "fakes/pg_store.hh"

#include "fakes/pg_error.hh"
#include "heddle/base/sometimes.hh"

namespace heddle::fakes::detail {
namespace {

[[noreturn]] void conflict(const std::string& table) {
  HEDDLE_SOMETIMES("two transactions of a database conflict");
  throw pg_error(sqlstate::serialization_failure,
                 "could not serialize access: another transaction has changed " +
                     (table.empty() ? std::string("the list of tables") : '"' + table + '"') +
                     " since this one began; run it again");
}

std::uint64_t bytes_of(const pg_place& at, const pg_row& row) {
  return at.table.size() + at.key.size() + (row && *row ? (*row)->size() : 0);
}

}  // namespace

void check_bytes_held(const postgres_options& options, std::uint64_t bytes, const char* what) {
  if (bytes > options.transaction_bytes_max)
    throw pg_error(sqlstate::too_complex, std::string("too many bytes in ") + what +
                                              ": postgres_options::transaction_bytes_max allows " +
                                              std::to_string(options.transaction_bytes_max));
}

pg_store::sums pg_store::sums_after(const pg_changes& changes) const {
  sums after = sums_;
  for (const auto& [at, row] : changes) {
    std::uint64_t& count = at.table.empty() ? after.tables : after.rows;
    const auto old = versions_.find(at);
    if (old != versions_.end() && old->second.row) {
      --count;
      after.bytes -= bytes_of(at, old->second.row);
    }
    if (row) {
      ++count;
      after.bytes += bytes_of(at, row);
    }
  }
  return after;
}

void pg_store::check_room(const pg_changes& changes) const {
  const sums after = sums_after(changes);
  const auto check = [this](std::uint64_t now, std::uint64_t before, const char* what) {
    if (now > options_.rows_max && now > before)
      throw pg_error(sqlstate::disk_full, std::string("too many ") + what +
                                              ": postgres_options::rows_max allows " +
                                              std::to_string(options_.rows_max));
  };
  check(after.rows, sums_.rows, "rows");
  check(after.tables, sums_.tables, "tables");
  if (after.bytes > options_.data_bytes_max && after.bytes > sums_.bytes)
    throw pg_error(sqlstate::disk_full, "too much data: postgres_options::data_bytes_max allows " +
                                            std::to_string(options_.data_bytes_max) + " bytes");
}

void pg_store::apply(const pg_changes& changes) {
  sums_ = sums_after(changes);
  ++last_commit_;
  for (const auto& [at, row] : changes) {
    versions_[at] = {row, last_commit_};
    table_commits_[at.table] = last_commit_;
    if (!row) tombstones_.emplace_back(last_commit_, at);
  }
  forget_tombstones();
}

void pg_store::forget_tombstones() {
  while (!tombstones_.empty() &&
         (begins_.empty() || tombstones_.front().first <= *begins_.begin())) {
    const auto& [commit, at] = tombstones_.front();
    const auto found = versions_.find(at);
    if (found != versions_.end() && !found->second.row && found->second.commit == commit)
      versions_.erase(found);
    tombstones_.pop_front();
  }
}

std::map<std::string, std::string> pg_store::rows(const std::string& table) const {
  std::map<std::string, std::string> all;
  for (auto at = versions_.lower_bound({table, ""});
       at != versions_.end() && at->first.table == table; ++at)
    if (at->second.row && *at->second.row) all.emplace(at->first.key, **at->second.row);
  return all;
}

pg_transaction::pg_transaction(pg_store& store) : store_(store), begin_(store.last_commit_) {
  store_.begins_.insert(begin_);
}

pg_transaction::~pg_transaction() {
  store_.begins_.erase(store_.begins_.find(begin_));
  store_.forget_tombstones();
}

void pg_transaction::check(const pg_place& at) const {
  const auto found = store_.versions_.find(at);
  if (found != store_.versions_.end() && found->second.commit > begin_) conflict(at.table);
}

void pg_transaction::check(const std::string& table) const {
  const auto found = store_.table_commits_.find(table);
  if (found != store_.table_commits_.end() && found->second > begin_) conflict(table);
}

void pg_transaction::note(const pg_place& at) {
  check(at);
  if (reads_.insert(at).second) count_bytes(at.table.size() + at.key.size());
  const std::uint32_t most = store_.options_.transaction_rows_max;
  if (reads_.size() > most)
    throw pg_error(
        sqlstate::too_complex,
        "too many rows in a transaction: postgres_options::transaction_rows_max allows " +
            std::to_string(most));
}

void pg_transaction::count_bytes(std::uint64_t more) {
  bytes_ += more;
  check_bytes_held(store_.options_, bytes_, "a transaction");
}

pg_row pg_transaction::read(const pg_place& at) {
  note(at);
  if (const auto own = writes_.find(at); own != writes_.end()) return own->second;
  const auto found = store_.versions_.find(at);
  return found == store_.versions_.end() ? pg_row() : found->second.row;
}

std::vector<std::pair<std::string, pg_value>> pg_transaction::scan(const std::string& table) {
  check(table);
  scans_.insert(table);
  std::map<std::string, pg_value> all;
  for (auto at = store_.versions_.lower_bound({table, ""});
       at != store_.versions_.end() && at->first.table == table; ++at)
    if (at->second.row) all.emplace(at->first.key, *at->second.row);
  for (auto at = writes_.lower_bound({table, ""}); at != writes_.end() && at->first.table == table;
       ++at) {
    if (at->second) {
      all[at->first.key] = *at->second;
    } else {
      all.erase(at->first.key);
    }
  }
  return {all.begin(), all.end()};
}

void pg_transaction::write(const pg_place& at, pg_row row) {
  note(at);
  pg_row& own = writes_[at];
  bytes_ -= own && *own ? (*own)->size() : 0;
  own = std::move(row);
  count_bytes(own && *own ? (*own)->size() : 0);
}

void pg_transaction::validate() const {
  for (const pg_place& at : reads_) check(at);
  for (const std::string& table : scans_) check(table);
}

}  // namespace heddle::fakes::detail
