// SPDX-License-Identifier: MIT
// The SQL that the database knows (docs/reference/fakes.md has the grammar): from a text to
// statements. It looks at the text alone; names of tables and columns are checked when a statement
// runs. No text makes it recurse.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fakes/pg_message.hh"

namespace heddle::fakes::detail {

/// A literal, or the number of a parameter ($1 is 1).
struct sql_value {
  enum class kind : std::uint8_t { null, text, number, truth, parameter, excluded };
  kind is = kind::null;
  std::string text = {};  ///< also "t" or "f"; of `excluded` (EXCLUDED.value) the column
  std::uint32_t parameter = 0;
};

struct sql_condition {
  std::string column;
  sql_value value;
};

/// The second part of ON CONFLICT.
enum class sql_conflict : std::uint8_t { fails, nothing, update };

struct sql_statement {
  enum class kind : std::uint8_t {
    create_table,
    select_rows,
    select_values,
    insert,
    update,
    remove,
    begin,
    commit,
    rollback,
    show,
    set,
  };
  kind is = kind::begin;
  std::string table = {};                 ///< or the name after SHOW and SET
  std::vector<std::string> columns = {};  ///< asked for, made or inserted into; "*": all
  std::vector<std::string> labels = {};   ///< names of the result's columns
  /// Rows to insert, or one row of values to select.
  std::vector<std::vector<sql_value>> rows = {};
  std::vector<sql_condition> where = {};       ///< joined by AND
  std::optional<sql_condition> assigned = {};  ///< SET of UPDATE, or of ON CONFLICT DO UPDATE
  std::string order_by = {};
  std::string conflict_column = {};  ///< empty: not named
  sql_conflict conflict = sql_conflict::fails;
  bool if_not_exists = false;
  bool read_only = false;        ///< BEGIN READ ONLY
  bool as_start = false;         ///< START TRANSACTION, for the answer's tag
  bool local = false;            ///< SET LOCAL
  std::string text = {};         ///< the value of SET
  std::uint32_t parameters = 0;  ///< the highest number of a parameter
};

/// Reads all statements of a text; none from one without words.
/// Fails: pg_error(42601), and 0A000 for a statement of SQL that the fake does not have. The text
/// says which form the fake knows. 54011 for a SELECT of more than 1,664 columns.
[[nodiscard]] std::vector<sql_statement> parse_sql(std::string_view text);

}  // namespace heddle::fakes::detail
