// SPDX-License-Identifier: MIT
// Statements about rows and tables, run inside a transaction. Statements about the transaction and
// the session (BEGIN, SET, ...) are the session's own.
#pragma once

#include <string>
#include <vector>

#include "fakes/pg_message.hh"
#include "fakes/pg_sql.hh"
#include "fakes/pg_store.hh"

namespace heddle::fakes::detail {

/// The outcome of a statement.
struct pg_result {
  std::vector<pg_column> columns = {};  ///< empty: it gives no rows
  std::vector<std::vector<pg_value>> rows = {};
  std::uint64_t bytes = 0;  ///< size of the rows
  std::string tag = {};     ///< text of CommandComplete, without the number of a SELECT's rows
  std::string notice = {};  ///< a warning; empty for none
  const char* notice_code = "00000";
};

/// Whether the statement is one for run_in().
[[nodiscard]] bool needs_transaction(const sql_statement& s) noexcept;
/// Whether it changes rows or tables.
[[nodiscard]] bool changes_data(const sql_statement& s) noexcept;

/// The columns of the statement's result. Fails: pg_error for names that there are not.
[[nodiscard]] std::vector<pg_column> columns_of(const sql_statement& s, pg_transaction& in);
/// Runs it. Fails: pg_error; the transaction must then be rolled back.
[[nodiscard]] pg_result run_in(pg_transaction& in, const sql_statement& s,
                               const std::vector<pg_value>& parameters);

}  // namespace heddle::fakes::detail
