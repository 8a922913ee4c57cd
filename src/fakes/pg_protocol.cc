// SPDX-License-Identifier: MIT
// Simple queries, and the extended protocol: Parse, Bind, Describe, Execute, Close, Sync
// (PostgreSQL manual, sections "Simple Query" and "Extended Query").
#include <algorithm>

#include "fakes/pg_error.hh"
#include "fakes/pg_session.hh"

namespace heddle::fakes::detail {
namespace {

constexpr std::size_t out_bytes_max = 64 * 1024;  // rows are sent when so many bytes wait

void put_notice(std::string& out, const pg_result& r) {
  if (!r.notice.empty()) put_report(out, 'N', "WARNING", r.notice_code, r.notice);
}

[[noreturn]] void none_of(const char* code, const char* what, const std::string& name) {
  throw pg_error(code, std::string(what) + " \"" + name + "\" does not exist");
}

}  // namespace

void pg_session::report(const pg_error& e) {
  if (std::string_view(e.sqlstate()) == sqlstate::serialization_failure) ++home_.counters.conflicts;
  put_report(out_, 'E', "ERROR", e.sqlstate(), e.what());
  roll_back();
}

void pg_session::ready() {
  const char state = block_ == block::idle ? 'I' : block_ == block::open ? 'T' : 'E';
  put_message(out_, 'Z', std::string_view(&state, 1));
}

task<> pg_session::simple_query(std::string_view body) {
  statements_.erase("");
  portals_.erase("");
  std::optional<pg_error> failed;
  pg_body message(body);
  const std::string text = message.text();
  message.end();
  try {
    check_length(text);
    const std::vector<sql_statement> all = parse_sql(text);
    if (all.empty()) put_message(out_, 'I', {});
    const std::vector<pg_value> values;
    for (std::size_t i = 0; i != all.size(); ++i) {
      pg_result got = co_await run_statement(all[i], values);
      // The last statement is answered when its transaction is committed.
      if (i + 1 == all.size() && block_ == block::idle) co_await commit_transaction();
      if (!got.columns.empty()) put_row_description(out_, got.columns, {});
      std::size_t next = 0;
      co_await give_rows(got, next, 0);
    }
  } catch (const pg_error& e) {
    failed = e;
  }
  if (failed) report(*failed);
  ready();
  co_await flush();
}

/// Sends up to `most` rows of a result from `next` on (0: all), and the message that ends them.
task<> pg_session::give_rows(pg_result& r, std::size_t& next, std::uint32_t most) {
  put_notice(out_, r);
  r.notice.clear();
  std::size_t count = 0;
  while (next != r.rows.size() && (most == 0 || count != most)) {
    put_row(out_, r.rows[next++]);
    ++count;
    if (out_.size() > out_bytes_max) co_await flush();
  }
  // The manual: with a limit that was reached, the portal is suspended, although no row may be
  // left.
  if (most != 0 && count == most) {
    put_message(out_, 's', {});
  } else {
    put_text_message(
        out_, 'C',
        r.columns.empty() ? r.tag : r.tag + (r.tag == "SELECT" ? " " + std::to_string(count) : ""));
  }
}

task<> pg_session::extended(const pg_message& m) {
  std::optional<pg_error> failed;
  try {
    if (m.type == 'P') parse(m.body);
    if (m.type == 'B') bind(m.body);
    if (m.type == 'D') describe(m.body);
    if (m.type == 'E') co_await execute(m.body);
    if (m.type == 'C') close(m.body);
  } catch (const pg_error& e) {
    failed = e;
  }
  if (failed) {
    report(*failed);
    skipping_ = true;
  } else if (out_.size() > out_bytes_max) {
    co_await flush();
  }
}

void pg_session::parse(std::string_view body) {
  pg_parse asked = read_parse(body);
  check_length(asked.query);
  std::vector<sql_statement> all = parse_sql(asked.query);
  if (all.size() > 1)
    throw pg_error(sqlstate::syntax_error,
                   "cannot insert multiple commands into a prepared statement");
  if (!asked.name.empty() && statements_.contains(asked.name))
    throw pg_error(sqlstate::statement_exists,
                   "prepared statement \"" + asked.name + "\" already exists");
  if (statements_.size() >= home_.options.statements_max)
    throw pg_error(sqlstate::too_complex,
                   "too many prepared statements: postgres_options::statements_max allows " +
                       std::to_string(home_.options.statements_max));
  prepared made;
  made.types = std::move(asked.types);
  if (!all.empty()) {
    check_not_failed(all[0]);
    if (needs_transaction(all[0])) static_cast<void>(columns_of(all[0], transaction()));
    made.types.resize(std::max<std::size_t>(made.types.size(), all[0].parameters), 0);
    made.statement = std::move(all[0]);
  }
  statements_[asked.name] = std::move(made);
  put_message(out_, '1', {});
}

void pg_session::bind(std::string_view body) {
  pg_bind asked = read_bind(body);
  const auto at = statements_.find(asked.statement);
  if (at == statements_.end())
    none_of(sqlstate::no_statement, "prepared statement", asked.statement);
  const prepared& from = at->second;
  if (asked.values.size() != from.types.size())
    throw pg_error(sqlstate::protocol_violation,
                   "bind message supplies " + std::to_string(asked.values.size()) +
                       " parameters, but prepared statement \"" + asked.statement + "\" requires " +
                       std::to_string(from.types.size()));
  for (std::size_t i = 0; i != asked.values.size(); ++i) {
    const std::uint32_t type = from.types[i];
    const std::uint32_t format = asked.formats.empty()       ? 0
                                 : asked.formats.size() == 1 ? asked.formats[0]
                                                             : asked.formats[i];
    if (format != 0 && type != 0 && type != pg_text && type != pg_varchar)
      throw pg_error(sqlstate::not_supported,
                     "the fake reads values of other types than text in text format only");
    if (asked.values[i] && asked.values[i]->find('\0') != std::string::npos)
      throw pg_error(sqlstate::bad_text, "invalid byte sequence for encoding \"UTF8\": 0x00");
  }
  if (!asked.portal.empty() && portals_.contains(asked.portal))
    throw pg_error("42P03", "portal \"" + asked.portal + "\" already exists");
  if (portals_.size() >= home_.options.statements_max)
    throw pg_error(sqlstate::too_complex,
                   "too many portals: postgres_options::statements_max allows " +
                       std::to_string(home_.options.statements_max));
  portal made{from.statement, std::move(asked.values), {}, std::move(asked.result_formats)};
  if (made.statement) {
    check_not_failed(*made.statement);
    if (needs_transaction(*made.statement))
      made.columns = columns_of(*made.statement, transaction());
    if (made.statement->is == sql_statement::kind::show)
      made.columns = show(made.statement->table).columns;
  }
  if (made.formats.size() > 1 && made.formats.size() != made.columns.size())
    throw pg_error(sqlstate::protocol_violation,
                   "bind message has " + std::to_string(made.formats.size()) +
                       " result formats but query has " + std::to_string(made.columns.size()) +
                       " columns");
  for (std::size_t i = 0; i != made.columns.size() && !made.formats.empty(); ++i)
    if (made.formats[made.formats.size() == 1 ? 0 : i] != 0 && made.columns[i].type != pg_text)
      throw pg_error(sqlstate::not_supported,
                     "the fake gives columns of other types than text in text format only");
  portals_.erase(asked.portal);
  check_held(made);
  portals_.insert_or_assign(asked.portal, std::move(made));
  put_message(out_, '2', {});
}

void pg_session::describe(std::string_view body) {
  pg_body in(body);
  const char kind = in.bytes(1)[0];
  const std::string name = in.text();
  in.end();
  std::vector<pg_column> columns;
  std::vector<std::uint32_t> formats;
  if (kind == 'S') {
    const auto at = statements_.find(name);
    if (at == statements_.end()) none_of(sqlstate::no_statement, "prepared statement", name);
    const prepared& p = at->second;
    std::string types;
    put_number(types, static_cast<std::uint32_t>(p.types.size()), 2);
    for (const std::uint32_t type : p.types) put_number(types, type == 0 ? pg_text : type, 4);
    if (p.statement && needs_transaction(*p.statement)) {
      check_not_failed(*p.statement);
      columns = columns_of(*p.statement, transaction());
    }
    if (p.statement && p.statement->is == sql_statement::kind::show)
      columns = show(p.statement->table).columns;
    put_message(out_, 't', types);
  } else if (kind == 'P') {
    const auto at = portals_.find(name);
    if (at == portals_.end()) none_of(sqlstate::no_portal, "portal", name);
    columns = at->second.columns;
    formats = at->second.formats;
  } else {
    throw pg_error(sqlstate::protocol_violation, "Describe names a statement (S) or a portal (P)");
  }
  if (columns.empty()) {
    put_message(out_, 'n', {});
  } else {
    put_row_description(out_, columns, formats);
  }
}

task<> pg_session::execute(std::string_view body) {
  pg_body in(body);
  const std::string name = in.text();
  const std::uint32_t most = in.number(4);
  in.end();
  const auto at = portals_.find(name);
  if (at == portals_.end()) none_of(sqlstate::no_portal, "portal", name);
  if (!at->second.statement) {
    put_message(out_, 'I', {});
    co_return;
  }
  if (at->second.result && at->second.columns.empty())
    throw pg_error(sqlstate::wrong_state, "portal \"" + name + "\" cannot be run");
  if (!at->second.result) {
    // COMMIT and ROLLBACK end portals, also their own, so the portal is away meanwhile.
    auto own = portals_.extract(at);
    portal& p = own.mapped();
    p.result = co_await run_statement(*p.statement, p.values);
    check_held(p);
    co_await give_rows(*p.result, p.next, p.columns.empty() ? 0 : most);
    using kind = sql_statement::kind;
    if (p.statement->is != kind::commit && p.statement->is != kind::rollback)
      portals_.insert(std::move(own));
    co_return;
  }
  co_await give_rows(*at->second.result, at->second.next, most);
}

/// Checks a portal beside those of the list: they keep their parameters, and rows that were not
/// fetched, so all of a session have limits in common.
void pg_session::check_held(const portal& p) const {
  std::size_t held = 0;
  std::uint64_t bytes = 0;
  const auto count = [&](const portal& each) {
    for (const pg_value& v : each.values) bytes += sizeof v + (v ? v->size() : 0);
    if (!each.result) return;
    held += each.result->rows.size();
    bytes += each.result->bytes;
  };
  count(p);
  for (const auto& [name, other] : portals_) count(other);
  check_bytes_held(home_.options, bytes, "portals");
  const std::uint32_t most = home_.options.transaction_rows_max;
  if (held > most)
    throw pg_error(sqlstate::too_complex,
                   "too many rows in portals: postgres_options::transaction_rows_max allows " +
                       std::to_string(most));
}

void pg_session::close(std::string_view body) {
  pg_body in(body);
  const char kind = in.bytes(1)[0];
  const std::string name = in.text();
  in.end();
  if (kind == 'S') {
    statements_.erase(name);
  } else if (kind == 'P') {
    portals_.erase(name);
  } else {
    throw pg_error(sqlstate::protocol_violation, "Close names a statement (S) or a portal (P)");
  }
  put_message(out_, '3', {});
}

task<> pg_session::sync() {
  std::optional<pg_error> failed;
  if (block_ == block::idle) {
    try {
      co_await commit_transaction();
    } catch (const pg_error& e) {
      failed = e;
    }
    portals_.clear();
  }
  if (failed) report(*failed);
  ready();
  co_await flush();
}

}  // namespace heddle::fakes::detail
