// SPDX-License-Identifier: MIT
// Messages and SQL of the fake database. Cut anywhere, bytes give the same messages or the same
// refusal. SQL in them is run: it gives rows, or an error with a code of five characters, and what
// a transaction has read of itself is what it commits.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fakes/pg_error.hh"
#include "fakes/pg_execute.hh"
#include "fakes/pg_message.hh"
#include "fakes/pg_sql.hh"
#include "fakes/pg_store.hh"
#include "require.hh"

namespace {

using namespace heddle::fakes;
using namespace heddle::fakes::detail;
using heddle::fuzz::require;

struct cut_messages {
  std::string text;
  std::vector<pg_message> all;
};

cut_messages cut_in_steps(std::string_view bytes, std::size_t step, bool startup) {
  cut_messages made;
  pg_reader in(4096);
  try {
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      in.feed(bytes.substr(at, step));
      for (;;) {
        auto m = startup ? in.next_startup() : in.next();
        if (!m) break;
        startup = false;
        made.text += m->type + std::to_string(m->body.size()) + ' ' + m->body;
        made.all.push_back(*std::move(m));
      }
    }
  } catch (const pg_error& e) {
    made.text += e.what();
  }
  return made;
}

/// Runs SQL in a small database of its own.
void run_sql(const std::string& sql, const std::vector<pg_value>& values) {
  postgres_options options;
  options.transaction_rows_max = 1000;
  pg_store store(options);
  try {
    const std::vector<sql_statement> all = parse_sql(sql);
    pg_transaction in(store);
    for (const sql_statement& s : all) {
      if (!needs_transaction(s)) continue;
      const std::vector<pg_column> columns = columns_of(s, in);
      const pg_result r = run_in(in, s, values);
      require(r.columns.size() == columns.size(), "the columns differ from what was described");
      for (const auto& row : r.rows) require(row.size() == columns.size());
      std::string out;
      if (!columns.empty()) put_row_description(out, columns, {});
      for (const auto& row : r.rows) put_row(out, row);
    }
    std::vector<std::pair<std::string, pg_value>> seen = in.scan("t");
    in.validate();
    store.check_room(in.changes());
    store.apply(in.changes());
    pg_transaction after(store);
    require(after.scan("t") == seen, "a commit changes what its transaction saw");
  } catch (const pg_error& e) {
    require(std::string_view(e.sqlstate()).size() == 5 && e.what()[0] != '\0');
  }
}

void read_bodies(const pg_message& m) {
  std::string sql;
  std::vector<pg_value> values;
  try {
    if (m.type == '\0') static_cast<void>(read_startup(m.body));
    if (m.type == 'P') sql = read_parse(m.body).query;
    if (m.type == 'B') values = read_bind(m.body).values;
    if (m.type == 'Q') sql = pg_body(m.body).text();
  } catch (const pg_error& e) {
    require(std::string_view(e.sqlstate()) == sqlstate::protocol_violation);
  }
  if (!sql.empty()) run_sql("create table t (key text primary key, value text);" + sql, values);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if ((data[0] & 1) != 0) {
    run_sql("create table t (key text primary key, value text);" + std::string(bytes),
            {pg_value("a"), pg_value()});
    return 0;
  }
  const bool startup = (data[0] & 2) != 0;
  const cut_messages whole = cut_in_steps(bytes, bytes.size() + 1, startup);
  require(cut_in_steps(bytes, 1, startup).text == whole.text, "cut in bytes they differ");
  require(cut_in_steps(bytes, 1 + data[0] / 4, startup).text == whole.text);
  for (const pg_message& m : whole.all) read_bodies(m);
  return 0;
}
