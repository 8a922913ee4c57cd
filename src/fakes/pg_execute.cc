// SPDX-License-Identifier: MIT
// Runs SELECT, INSERT, UPDATE, DELETE and CREATE TABLE; see pg_execute.hh.
#include "fakes/pg_execute.hh"

#include <algorithm>
#include <set>
#include <string_view>

#include "fakes/pg_error.hh"

namespace heddle::fakes::detail {
namespace {

using kind = sql_statement::kind;

struct sql_table {
  std::string name, key, value;  // the table's name, and those of its columns
};

std::optional<sql_table> find_table(const std::string& name, pg_transaction& in) {
  const pg_row row = in.read({"", name});
  if (!row || !*row) return std::nullopt;
  const std::size_t between = (*row)->find('\0');
  return sql_table{name, (*row)->substr(0, between), (*row)->substr(between + 1)};
}

sql_table table_of(const sql_statement& s, pg_transaction& in) {
  if (auto found = find_table(s.table, in)) return *std::move(found);
  throw pg_error(sqlstate::no_table, "relation \"" + s.table + "\" does not exist");
}

void check_column(const sql_table& t, const std::string& column) {
  if (column != t.key && column != t.value)
    throw pg_error(sqlstate::no_column, "column \"" + column + "\" of \"" + t.name +
                                            "\" does not exist; it has \"" + t.key + "\" and \"" +
                                            t.value + '"');
}

void need_key(const sql_table& t, const std::string& column, const char* where) {
  check_column(t, column);
  if (column != t.key)
    throw pg_error(sqlstate::not_supported, std::string(where) + " names the key \"" + t.key +
                                                "\" in the fake, not \"" + column + '"');
}

void need_value(const sql_table& t, const std::string& column) {
  check_column(t, column);
  if (column != t.value)
    throw pg_error(sqlstate::not_supported,
                   "SET changes the value \"" + t.value + "\" in the fake, not the key");
}

pg_value value_of(const sql_value& v, const std::vector<pg_value>& parameters) {
  if (v.is == sql_value::kind::null) return std::nullopt;
  if (v.is != sql_value::kind::parameter) return v.text;
  if (v.parameter > parameters.size())
    throw pg_error(sqlstate::no_parameter, "there is no parameter $" + std::to_string(v.parameter));
  return parameters[v.parameter - 1];
}

/// The value for a column of type text: a truth is stored by its name.
pg_value stored_value(const sql_value& v, const std::vector<pg_value>& parameters) {
  if (v.is == sql_value::kind::truth) return v.text == "t" ? "true" : "false";
  return value_of(v, parameters);
}

std::uint32_t type_of(const sql_value& v) {
  if (v.is == sql_value::kind::truth) return pg_bool;
  if (v.is != sql_value::kind::number) return pg_text;
  if (v.text.find('.') != v.text.npos) return pg_numeric;
  const std::size_t digits = v.text.size() - (v.text[0] == '-' ? 1 : 0);
  // 9 digits always fit in 32 bits, 18 in 64.
  return digits <= 9 ? pg_int4 : digits <= 18 ? pg_int8 : pg_numeric;
}

/// A WHERE: the key, and the value if it is named. No row fits if `key` is empty.
struct sql_filter {
  std::optional<std::string> key;
  std::vector<pg_value> values;

  [[nodiscard]] bool takes(const pg_value& v) const {
    return std::ranges::all_of(values, [&](const pg_value& want) { return want && v == want; });
  }
};

sql_filter filter_of(const sql_statement& s, const sql_table& t,
                     const std::vector<pg_value>& parameters) {
  sql_filter made;
  bool has_key = false;
  for (const sql_condition& c : s.where) {
    check_column(t, c.column);
    pg_value v = stored_value(c.value, parameters);
    if (c.column != t.key) {
      made.values.push_back(std::move(v));
    } else if (!has_key) {
      made.key = std::move(v);
      has_key = true;
    } else if (made.key != v) {
      made.key.reset();  // two keys at once
    }
  }
  if (!has_key)
    throw pg_error(sqlstate::not_supported,
                   "WHERE in the fake begins with the key: \"" + t.key + "\" = ...");
  return made;
}

/// Adds a value to the last row of a result, if it does not exceed transaction_bytes_max.
void add_value(pg_result& to, const pg_value& value, const postgres_options& options) {
  to.bytes += sizeof value + (value ? value->size() : 0);
  check_bytes_held(options, to.bytes, "a result");
  to.rows.back().push_back(value);
}

pg_result select_rows(pg_transaction& in, const sql_statement& s,
                      const std::vector<pg_value>& parameters) {
  const sql_table t = table_of(s, in);
  pg_result made;
  made.tag = "SELECT";
  made.columns = columns_of(s, in);
  const auto give = [&](const std::string& key, const pg_value& value) {
    made.rows.emplace_back();
    for (const std::string& c : s.columns) {
      if (c == "*" || c == t.key) add_value(made, key, in.options());
      if (c == "*" || c == t.value) add_value(made, value, in.options());
    }
  };
  if (s.where.empty()) {
    for (const auto& [key, value] : in.scan(t.name)) give(key, value);
    return made;
  }
  const sql_filter filter = filter_of(s, t, parameters);
  if (!filter.key) return made;
  const pg_row row = in.read({t.name, *filter.key});
  if (row && filter.takes(*row)) give(*filter.key, *row);
  return made;
}

pg_result select_values(pg_transaction& in, const sql_statement& s,
                        const std::vector<pg_value>& parameters) {
  pg_result made;
  made.tag = "SELECT";
  made.columns = columns_of(s, in);
  made.rows.emplace_back();
  for (const sql_value& v : s.rows[0]) add_value(made, value_of(v, parameters), in.options());
  return made;
}

pg_result insert(pg_transaction& in, const sql_statement& s,
                 const std::vector<pg_value>& parameters) {
  const sql_table t = table_of(s, in);
  std::vector<std::string> columns = s.columns;
  if (columns.empty()) columns = {t.key, t.value};
  std::set<std::string_view> named;
  for (const std::string& c : columns) {
    check_column(t, c);
    if (!named.insert(c).second)
      throw pg_error(sqlstate::duplicate_column, "column \"" + c + "\" specified more than once");
  }
  if (!s.conflict_column.empty()) need_key(t, s.conflict_column, "ON CONFLICT");
  if (s.assigned) need_value(t, s.assigned->column);
  if (s.assigned && s.assigned->value.is == sql_value::kind::excluded)
    need_value(t, s.assigned->value.text);
  std::uint64_t count = 0;
  std::set<std::string> changed;  // keys that ON CONFLICT DO UPDATE has inserted or updated
  for (const std::vector<sql_value>& row : s.rows) {
    if (row.size() > columns.size() || (row.size() < columns.size() && !s.columns.empty()))
      throw pg_error(sqlstate::syntax_error, "INSERT has " + std::to_string(row.size()) +
                                                 " values for " + std::to_string(columns.size()) +
                                                 " columns");
    pg_value key, value;
    for (std::size_t i = 0; i != row.size(); ++i)
      (columns[i] == t.key ? key : value) = stored_value(row[i], parameters);
    if (!key)
      throw pg_error(sqlstate::null_not_allowed,
                     "null value in column \"" + t.key + "\" violates not-null constraint");
    const pg_place at{t.name, *key};
    const bool exists = in.read(at).has_value();
    if (exists && s.conflict == sql_conflict::fails)
      throw pg_error(sqlstate::duplicate_key, "duplicate key value violates unique constraint \"" +
                                                  t.name + "_pkey\": \"" + *key + '"');
    if (exists && s.conflict == sql_conflict::nothing) continue;
    if (s.conflict == sql_conflict::update && !changed.insert(*key).second)
      throw pg_error(sqlstate::row_changed_twice,
                     "ON CONFLICT DO UPDATE command cannot affect row a second time");
    if (exists && s.assigned->value.is != sql_value::kind::excluded)
      value = stored_value(s.assigned->value, parameters);
    in.write(at, std::move(value));
    ++count;
  }
  pg_result made;
  made.tag = "INSERT 0 " + std::to_string(count);
  return made;
}

/// UPDATE and DELETE: of the one row that fits.
pg_result change_row(pg_transaction& in, const sql_statement& s,
                     const std::vector<pg_value>& parameters) {
  const sql_table t = table_of(s, in);
  if (s.assigned) need_value(t, s.assigned->column);
  const sql_filter filter = filter_of(s, t, parameters);
  std::uint64_t count = 0;
  if (filter.key) {
    const pg_place at{t.name, *filter.key};
    const pg_row row = in.read(at);
    if (row && filter.takes(*row)) {
      in.write(at, s.assigned ? pg_row(stored_value(s.assigned->value, parameters)) : pg_row());
      count = 1;
    }
  }
  pg_result made;
  made.tag = (s.assigned ? "UPDATE " : "DELETE ") + std::to_string(count);
  return made;
}

pg_result create_table(pg_transaction& in, const sql_statement& s) {
  pg_result made;
  made.tag = "CREATE TABLE";
  if (find_table(s.table, in)) {
    const std::string text = "relation \"" + s.table + "\" already exists";
    if (!s.if_not_exists) throw pg_error(sqlstate::table_exists, text);
    made.notice = text + ", skipping";
    made.notice_code = sqlstate::table_exists;
    return made;
  }
  in.write({"", s.table}, pg_row(s.columns[0] + '\0' + s.columns[1]));
  return made;
}

}  // namespace

bool needs_transaction(const sql_statement& s) noexcept {
  return s.is == kind::select_rows || s.is == kind::select_values || changes_data(s);
}

bool changes_data(const sql_statement& s) noexcept {
  return s.is == kind::create_table || s.is == kind::insert || s.is == kind::update ||
         s.is == kind::remove;
}

std::vector<pg_column> columns_of(const sql_statement& s, pg_transaction& in) {
  std::vector<pg_column> made;
  if (s.is == kind::select_values) {
    for (std::size_t i = 0; i != s.labels.size(); ++i)
      made.push_back({s.labels[i], type_of(s.rows[0][i])});
    return made;
  }
  if (s.is == kind::create_table) return made;
  const sql_table t = table_of(s, in);
  if (s.is != kind::select_rows) return made;
  for (std::size_t i = 0; i != s.columns.size(); ++i) {
    if (s.columns[i] == "*") {
      made.push_back({t.key, pg_text});
      made.push_back({t.value, pg_text});
    } else {
      check_column(t, s.columns[i]);
      made.push_back({s.labels[i], pg_text});
    }
  }
  if (!s.order_by.empty()) need_key(t, s.order_by, "ORDER BY");
  return made;
}

pg_result run_in(pg_transaction& in, const sql_statement& s,
                 const std::vector<pg_value>& parameters) {
  if (s.is == kind::select_rows) return select_rows(in, s, parameters);
  if (s.is == kind::select_values) return select_values(in, s, parameters);
  if (s.is == kind::insert) return insert(in, s, parameters);
  if (s.is == kind::create_table) return create_table(in, s);
  return change_row(in, s, parameters);
}

}  // namespace heddle::fakes::detail
