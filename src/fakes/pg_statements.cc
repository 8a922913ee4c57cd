// SPDX-License-Identifier: MIT
// A session's statements: those about transactions and settings are run here, those about data in
// the session's transaction (pg_execute.hh).
#include <utility>

#include "fakes/pg_error.hh"
#include "fakes/pg_session.hh"
#include "fakes/small_letters.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/sleep.hh"

namespace heddle::fakes::detail {
namespace {

pg_result tagged(const char* tag) {
  pg_result made;
  made.tag = tag;
  return made;
}

constexpr std::size_t settings_max = 1000;  // settings that a session may have

}  // namespace

task<pg_result> pg_session::run_statement(const sql_statement& s,
                                          const std::vector<pg_value>& values) {
  using kind = sql_statement::kind;
  ++home_.counters.statements;
  co_await wait_before_statement();
  check_not_failed(s);
  if (needs_transaction(s)) {
    if (read_only_ && changes_data(s))
      throw pg_error(sqlstate::read_only_transaction,
                     "cannot change data in a read-only transaction");
    co_return run_in(transaction(), s, values);
  }
  if (s.is == kind::begin) co_return begin_block(s);
  if (s.is == kind::commit || s.is == kind::rollback) {
    pg_result ended = co_await end_block(s.is == kind::commit);
    co_return ended;
  }
  if (s.is == kind::show) co_return show(s.table);
  co_return set(s);
}

pg_result pg_session::set(const sql_statement& s) {
  pg_result made = tagged("SET");
  const std::string name = small_letters(s.table);
  const bool exists = settings_.contains(name) || local_settings_.contains(name);
  if (!exists && settings_.size() + local_settings_.size() >= settings_max)
    throw pg_error(sqlstate::too_complex, "a session has at most 1000 settings");
  if (s.local) {
    local_settings_[name] = s.text;
    if (block_ == block::idle) {
      made.notice = "SET LOCAL can only be used in transaction blocks";
      made.notice_code = sqlstate::no_transaction;
    }
  } else {
    settings_[name] = s.text;
    local_settings_.erase(name);
  }
  return made;
}

/// Waits as long as the faults say.
task<> pg_session::wait_before_statement() {
  if (home_.faults.delay <= nanoseconds::zero()) co_return;
  cancel_source& own = waiting_.emplace();
  const auto slept = co_await as_expected(with_cancel(own, sleep_for(home_.faults.delay)));
  const bool asked = own.canceled();
  waiting_.reset();
  if (asked) throw pg_error(sqlstate::query_canceled, "canceling statement due to user request");
  if (!slept) throw failure(slept.error());
}

void pg_session::check_not_failed(const sql_statement& s) const {
  using kind = sql_statement::kind;
  if (block_ == block::failed && s.is != kind::commit && s.is != kind::rollback)
    throw pg_error(sqlstate::transaction_failed,
                   "current transaction is aborted, commands ignored until end of transaction "
                   "block");
}

void pg_session::check_length(std::string_view sql) const {
  const std::uint32_t most = home_.options.statement_bytes_max;
  if (sql.size() > most)
    throw pg_error(sqlstate::too_complex, "a text of " + std::to_string(sql.size()) +
                                              " bytes is longer than "
                                              "postgres_options::statement_bytes_max allows: " +
                                              std::to_string(most));
}

pg_transaction& pg_session::transaction() {
  if (transaction_ != nullptr) return *transaction_;
  const std::uint32_t most = home_.options.transactions_max;
  if (home_.store.open_transactions() >= most)
    throw pg_error(sqlstate::limit_reached,
                   "too many open transactions: postgres_options::transactions_max allows " +
                       std::to_string(most));
  transaction_ = std::make_unique<pg_transaction>(home_.store);
  return *transaction_;
}

pg_result pg_session::begin_block(const sql_statement& s) {
  pg_result made = tagged(s.as_start ? "START TRANSACTION" : "BEGIN");
  if (block_ == block::open) {
    made.notice = "there is already a transaction in progress";
    made.notice_code = sqlstate::transaction_open;
    return made;
  }
  block_ = block::open;
  read_only_ = s.read_only;
  return made;
}

task<pg_result> pg_session::end_block(bool commits) {
  const block before = std::exchange(block_, block::idle);
  read_only_ = false;
  const bool committed = commits && before != block::failed;
  if (committed) {
    co_await commit_transaction();
  } else {
    forget_transaction();
  }
  pg_result made = tagged(committed ? "COMMIT" : "ROLLBACK");
  if (before == block::idle) {
    made.notice = "there is no transaction in progress";
    made.notice_code = sqlstate::no_transaction;
  }
  co_return made;
}

/// Commits the session's transaction, if there is one. It is over afterwards in any case.
task<> pg_session::commit_transaction() {
  const std::unique_ptr<pg_transaction> own = std::move(transaction_);
  forget_transaction();
  if (own != nullptr) co_await home_.commit(*own);
}

/// The effect of an error on the transaction.
void pg_session::roll_back() noexcept {
  forget_transaction();
  if (block_ == block::open) block_ = block::failed;
}

/// Ends all that lasts as long as a transaction.
void pg_session::forget_transaction() noexcept {
  transaction_.reset();
  portals_.clear();
  local_settings_.clear();
}

pg_result pg_session::show(const std::string& name) const {
  const std::string key = small_letters(name);
  const auto& from = local_settings_.contains(key) ? local_settings_ : settings_;
  const auto at = from.find(key);
  if (at == from.end())
    throw pg_error(sqlstate::no_object,
                   "unrecognized configuration parameter \"" + name + "\": SET gives it a value");
  pg_result made = tagged("SHOW");
  made.columns.push_back({name, pg_text});
  made.rows.push_back({pg_value(at->second)});
  return made;
}

}  // namespace heddle::fakes::detail
