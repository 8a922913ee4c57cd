// SPDX-License-Identifier: MIT
// The parser of the fake's SQL; see pg_sql.hh. One function a statement.
#include "fakes/pg_sql.hh"

#include <algorithm>

#include "fakes/pg_error.hh"
#include "fakes/pg_tokens.hh"

namespace heddle::fakes::detail {
namespace {

// The forms of statements, as errors tell them.
constexpr const char* form_create =
    "CREATE TABLE [IF NOT EXISTS] name (key text PRIMARY KEY, value text)";
constexpr const char* form_select =
    "SELECT columns FROM table [WHERE key = v] [ORDER BY key] [FOR UPDATE], or SELECT v [AS name]";
constexpr const char* form_insert =
    "INSERT INTO table [(key, value)] VALUES (v, v)[, ...] [ON CONFLICT [(key)] DO NOTHING | "
    "ON CONFLICT (key) DO UPDATE SET value = v]";
constexpr const char* form_update = "UPDATE table SET value = v WHERE key = v [AND value = v]";
constexpr const char* form_delete = "DELETE FROM table WHERE key = v [AND value = v]";
constexpr const char* form_begin =
    "BEGIN or START TRANSACTION [ISOLATION LEVEL name] [READ ONLY | READ WRITE]";
constexpr const char* form_end = "COMMIT, END or ROLLBACK";
constexpr const char* form_show = "SHOW name";
constexpr const char* form_set = "SET name = value";
constexpr const char* all_forms =
    "CREATE TABLE, SELECT, INSERT, UPDATE, DELETE, BEGIN, COMMIT, ROLLBACK, SHOW and SET, for "
    "tables "
    "of one key and one value";

constexpr std::string_view other_commands[] = {
    "abort",    "alter",      "analyze", "call",    "checkpoint", "close",  "cluster",   "comment",
    "copy",     "deallocate", "declare", "discard", "do",         "drop",   "execute",   "explain",
    "fetch",    "grant",      "listen",  "load",    "lock",       "merge",  "move",      "notify",
    "prepare",  "refresh",    "reindex", "release", "reset",      "revoke", "savepoint", "table",
    "truncate", "unlisten",   "vacuum",  "values",  "with"};

constexpr std::size_t columns_max = 1664;  // PostgreSQL has this limit

/// Counts a column that is asked for; "*" is both of a table.
void count_column(std::size_t& columns, bool star) {
  columns += star ? 2 : 1;
  if (columns > columns_max)
    throw pg_error(sqlstate::too_many_columns, "target lists can have at most 1664 entries");
}

class sql_parser {
 public:
  explicit sql_parser(std::string_view text) : tokens_(sql_tokens(text)) {}

  std::vector<sql_statement> all() {
    std::vector<sql_statement> made;
    for (;;) {
      while (take_symbol(";")) {
      }
      if (now().is == sql_token::kind::end) return made;
      made.push_back(statement());
      if (now().is != sql_token::kind::end && !is_symbol(";")) wrong("the end of the statement");
    }
  }

 private:
  [[nodiscard]] const sql_token& now() const { return tokens_[at_]; }
  [[nodiscard]] bool is_word(std::string_view word) const {
    return now().is == sql_token::kind::word && now().text == word;
  }
  [[nodiscard]] bool is_symbol(std::string_view symbol) const {
    return now().is == sql_token::kind::symbol && now().text == symbol;
  }
  void step() {
    if (now().is != sql_token::kind::end) ++at_;
  }
  bool take_word(std::string_view word) {
    if (!is_word(word)) return false;
    step();
    return true;
  }
  bool take_symbol(std::string_view symbol) {
    if (!is_symbol(symbol)) return false;
    step();
    return true;
  }
  void need_word(std::string_view word) {
    if (!take_word(word)) wrong(std::string(word));
  }
  void need_symbol(const char* symbol) {
    if (!take_symbol(symbol)) wrong(std::string("\"") + symbol + '"');
  }
  std::string name(const char* what) {
    if (now().is != sql_token::kind::word && now().is != sql_token::kind::quoted) wrong(what);
    std::string made = now().text;
    step();
    return made;
  }

  [[noreturn]] void wrong(const std::string& expected) const {
    const bool end = now().is == sql_token::kind::end;
    throw pg_error(sqlstate::syntax_error,
                   "syntax error at " + (end ? std::string("the end") : '"' + now().text + '"') +
                       ": expected " + expected + "; the fake knows " + form_);
  }

  sql_value value() {
    sql_value v;
    const sql_token& t = now();
    if (t.is == sql_token::kind::text) {
      v = {sql_value::kind::text, t.text, 0};
    } else if (t.is == sql_token::kind::number) {
      v = {sql_value::kind::number, t.text, 0};
    } else if (t.is == sql_token::kind::parameter) {
      v = {sql_value::kind::parameter, {}, t.number};
      made_.parameters = std::max(made_.parameters, t.number);
    } else if (is_symbol("-")) {
      step();
      if (now().is != sql_token::kind::number) wrong("a number");
      v = {sql_value::kind::number, '-' + now().text, 0};
    } else if (is_word("null")) {
      v = {};
    } else if (is_word("true") || is_word("false")) {
      v = {sql_value::kind::truth, is_word("true") ? "t" : "f", 0};
    } else {
      wrong("a literal or a parameter");
    }
    step();
    while (take_symbol("::")) {
      if (!is_word("text") && !is_word("varchar")) {
        const std::string type = name("the name of a type");
        throw pg_error(sqlstate::not_supported,
                       "the fake knows no type \"" + type + "\"; it knows text and varchar");
      }
      step();
      if (v.is == sql_value::kind::number) v.is = sql_value::kind::text;
      if (v.is == sql_value::kind::truth)
        v = {sql_value::kind::text, v.text == "t" ? "true" : "false", 0};
    }
    return v;
  }

  sql_statement statement() {
    made_ = {};
    form_ = all_forms;
    if (take_word("select")) return select();
    if (take_word("insert")) return insert();
    if (take_word("update")) return update();
    if (take_word("delete")) return remove();
    if (take_word("create")) return create();
    if (is_word("begin") || is_word("start")) return begin();
    if (is_word("commit") || is_word("end") || is_word("rollback")) return end();
    if (take_word("show")) return show();
    if (take_word("set")) return set();
    if (now().is == sql_token::kind::word &&
        std::ranges::find(other_commands, now().text) != std::end(other_commands))
      throw pg_error(sqlstate::not_supported,
                     "the fake has no " + now().text + "; it knows " + std::string(all_forms));
    wrong("a statement");
  }

  sql_statement create() {
    form_ = form_create;
    made_.is = sql_statement::kind::create_table;
    need_word("table");
    if (take_word("if")) {
      need_word("not");
      need_word("exists");
      made_.if_not_exists = true;
    }
    made_.table = name("a table");
    need_symbol("(");
    made_.columns.push_back(name("the key's column"));
    text_type();
    need_word("primary");
    need_word("key");
    need_symbol(",");
    made_.columns.push_back(name("the value's column"));
    text_type();
    need_symbol(")");
    if (made_.columns[0] == made_.columns[1]) wrong("two columns with different names");
    return std::move(made_);
  }
  void text_type() {
    if (!is_word("text") && !is_word("varchar") && now().is == sql_token::kind::word)
      throw pg_error(sqlstate::not_supported, "the fake knows no type \"" + now().text +
                                                  "\" for columns; it knows " + form_create);
    if (!take_word("text")) need_word("varchar");
  }

  sql_statement select() {
    form_ = form_select;
    const bool plain = now().is == sql_token::kind::quoted ||
                       (now().is == sql_token::kind::word && !is_word("null") && !is_word("true") &&
                        !is_word("false"));
    if (!plain && !is_symbol("*")) return select_values();
    made_.is = sql_statement::kind::select_rows;
    std::size_t columns = 0;
    do {
      count_column(columns, is_symbol("*"));
      made_.columns.push_back(take_symbol("*") ? std::string("*") : name("a column"));
      made_.labels.push_back(take_word("as") ? name("a name") : made_.columns.back());
    } while (take_symbol(","));
    need_word("from");
    made_.table = name("a table");
    if (take_word("where")) conditions();
    if (take_word("order")) {
      need_word("by");
      made_.order_by = name("the key's column");
      static_cast<void>(take_word("asc"));
    }
    if (take_word("for")) need_word("update");  // without effect: conflicts show at the commit
    return std::move(made_);
  }
  sql_statement select_values() {
    made_.is = sql_statement::kind::select_values;
    made_.rows.emplace_back();
    std::size_t columns = 0;
    do {
      count_column(columns, false);
      made_.rows[0].push_back(value());
      made_.labels.push_back(take_word("as") ? name("a name") : std::string("?column?"));
    } while (take_symbol(","));
    return std::move(made_);
  }

  void conditions() {
    do {
      std::string column = name("a column");
      need_symbol("=");
      made_.where.push_back({std::move(column), value()});
    } while (take_word("and"));
  }

  sql_statement insert() {
    form_ = form_insert;
    made_.is = sql_statement::kind::insert;
    need_word("into");
    made_.table = name("a table");
    if (take_symbol("(")) {
      do made_.columns.push_back(name("a column"));
      while (take_symbol(","));
      need_symbol(")");
    }
    need_word("values");
    do {
      need_symbol("(");
      made_.rows.emplace_back();
      do made_.rows.back().push_back(value());
      while (take_symbol(","));
      need_symbol(")");
    } while (take_symbol(","));
    if (!take_word("on")) return std::move(made_);
    need_word("conflict");
    if (take_symbol("(")) {
      made_.conflict_column = name("the key's column");
      need_symbol(")");
    }
    need_word("do");
    if (take_word("nothing")) {
      made_.conflict = sql_conflict::nothing;
      return std::move(made_);
    }
    if (made_.conflict_column.empty()) wrong("nothing, or (key) before do update");
    need_word("update");
    need_word("set");
    made_.conflict = sql_conflict::update;
    assignment(true);
    return std::move(made_);
  }
  void assignment(bool excluded) {
    sql_condition made{name("a column"), {}};
    need_symbol("=");
    if (excluded && take_word("excluded")) {
      need_symbol(".");
      made.value = {sql_value::kind::excluded, name("a column"), 0};
    } else {
      made.value = value();
    }
    made_.assigned = std::move(made);
  }

  sql_statement update() {
    form_ = form_update;
    made_.is = sql_statement::kind::update;
    made_.table = name("a table");
    need_word("set");
    assignment(false);
    need_word("where");
    conditions();
    return std::move(made_);
  }

  sql_statement remove() {
    form_ = form_delete;
    made_.is = sql_statement::kind::remove;
    need_word("from");
    made_.table = name("a table");
    need_word("where");
    conditions();
    return std::move(made_);
  }

  sql_statement begin() {
    form_ = form_begin;
    made_.is = sql_statement::kind::begin;
    made_.as_start = is_word("start");
    step();
    if (made_.as_start) {
      need_word("transaction");
    } else if (!take_word("transaction")) {
      static_cast<void>(take_word("work"));
    }
    modes();
    return std::move(made_);
  }
  /// The modes of a transaction. Each isolation level is granted: serializable is all of them.
  void modes() {
    for (;;) {
      if (take_word("isolation")) {
        need_word("level");
        if (take_word("repeatable")) {
          need_word("read");
        } else if (take_word("read")) {
          if (!take_word("committed")) need_word("uncommitted");
        } else {
          need_word("serializable");
        }
      } else if (take_word("read")) {
        made_.read_only = is_word("only");
        if (!take_word("only")) need_word("write");
      } else if (take_word("not")) {
        need_word("deferrable");
      } else if (!take_word("deferrable")) {
        return;
      }
      static_cast<void>(take_symbol(","));
    }
  }

  sql_statement end() {
    form_ = form_end;
    made_.is = is_word("rollback") ? sql_statement::kind::rollback : sql_statement::kind::commit;
    step();
    if (!take_word("transaction")) static_cast<void>(take_word("work"));
    return std::move(made_);
  }

  sql_statement show() {
    form_ = form_show;
    made_.is = sql_statement::kind::show;
    made_.table = name("a name");
    while (take_symbol(".")) made_.table += '.' + name("a name");
    return std::move(made_);
  }

  sql_statement set() {
    form_ = form_set;
    made_.is = sql_statement::kind::set;
    if (!take_word("session")) made_.local = take_word("local");
    made_.table = name("a name");
    while (take_symbol(".")) made_.table += '.' + name("a name");
    if (!take_symbol("=")) static_cast<void>(take_word("to"));
    if (now().is == sql_token::kind::end || is_symbol(";")) wrong("a value");
    for (; now().is != sql_token::kind::end && !is_symbol(";"); step()) {
      if (now().is == sql_token::kind::parameter) wrong("a value");
      if (!made_.text.empty() && !is_symbol(",")) made_.text += ' ';
      made_.text += now().text;
    }
    return std::move(made_);
  }

  std::vector<sql_token> tokens_;
  std::size_t at_ = 0;
  const char* form_ = all_forms;
  sql_statement made_;
};

}  // namespace

std::vector<sql_statement> parse_sql(std::string_view text) { return sql_parser(text).all(); }

}  // namespace heddle::fakes::detail
