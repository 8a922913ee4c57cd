// SPDX-License-Identifier: MIT
// A session's messages: greeting, authentication, reading, sending with the faults that are set.
#include "fakes/pg_session.hh"

#include <algorithm>
#include <utility>

#include "fakes/accepting.hh"
#include "fakes/pg_error.hh"
#include "heddle/base/error.hh"
#include "heddle/core/expected.hh"
#include "heddle/sched/runtime.hh"

namespace heddle::fakes::detail {
namespace {

constexpr nanoseconds linger = std::chrono::seconds(1);
constexpr unsigned offers_max = 4;  // SSLRequest and GSSENCRequest before the startup message

[[noreturn]] void end_session(std::errc code) { throw failure(std::make_error_code(code)); }

}  // namespace

pg_session::pg_session(postgres_server::core& home, stream on, std::uint32_t number)
    : home_(home),
      on_(std::move(on)),
      in_(home.options.message_bytes_max),
      faults_epoch_(home.faults_epoch),
      number_(number),
      secret_(static_cast<std::uint32_t>(runtime::here().io().random())) {
  settings_ = {{"server_version", "16.0 (heddle fake)"},
               {"server_encoding", "UTF8"},
               {"client_encoding", "UTF8"},
               {"application_name", ""},
               {"datestyle", "ISO, MDY"},
               {"integer_datetimes", "on"},
               {"standard_conforming_strings", "on"},
               {"timezone", "UTC"},
               {"transaction_isolation", "serializable"}};
  home_.sessions.push_back(this);
}

pg_session::~pg_session() { home_.sessions.remove(this); }

void pg_session::cancel_statement() noexcept {
  if (waiting_) waiting_->cancel();
}

void pg_session::drop() noexcept {
  dropped_ = true;
  cancel_statement();
  on_.reset_on_close();
  on_.close();
}

task<std::optional<pg_message>> pg_session::next_message(bool first) {
  for (;;) {
    std::optional<pg_message> made = first ? in_.next_startup() : in_.next();
    if (made) co_return made;
    received got = co_await on_.receive();
    if (!got) co_return std::nullopt;
    in_.feed(got.text());
  }
}

task<> pg_session::flush() {
  while (home_.faults.silent && !dropped_) co_await home_.faults_changed.wait();
  if (dropped_) end_session(std::errc::operation_canceled);
  if (faults_epoch_ != home_.faults_epoch) {
    faults_epoch_ = home_.faults_epoch;
    sent_ = 0;
  }
  const std::string bytes = std::exchange(out_, std::string());
  const std::optional<std::uint64_t> most = home_.faults.cut_after;
  std::string_view now = bytes;
  const bool cut = most && (*most < sent_ || bytes.size() > *most - sent_);
  if (cut) now = now.substr(0, static_cast<std::size_t>(*most < sent_ ? 0 : *most - sent_));
  sent_ += now.size();
  if (!now.empty()) co_await on_.write(now);
  if (cut) {
    on_.reset_on_close();
    end_session(std::errc::connection_reset);
  }
}

task<pg_session::start> pg_session::refuse(const char* code, std::string text) {
  put_report(out_, 'E', "FATAL", code, text);
  co_await flush();
  co_return start::refused;
}

task<pg_session::start> pg_session::begin(bool full) {
  for (unsigned offers = 0;; ++offers) {
    const std::optional<pg_message> first = co_await next_message(true);
    if (!first) co_return start::over;
    pg_body body(first->body);
    const std::uint32_t code = body.number(4);
    if (code == pg_cancel_code) {
      const std::uint32_t number = body.number(4), secret = body.number(4);
      home_.cancel(number, secret);
      co_return start::over;
    }
    if (code != pg_ssl_code && code != pg_gssenc_code) {
      const start how = co_await greet(*first, full);
      co_return how;
    }
    if (offers == offers_max || in_.unread() != 0)
      throw pg_error(sqlstate::protocol_violation,
                     "after a request for encryption the client waits for the answer");
    out_ += 'N';
    co_await flush();
  }
}

task<pg_session::start> pg_session::greet(const pg_message& first, bool full) {
  const pg_startup asked = read_startup(first.body);
  const auto value = [&](const char* name) {
    const auto at = asked.parameters.find(name);
    return at == asked.parameters.end() ? std::string() : at->second;
  };
  const char* code = nullptr;
  std::string why;
  const std::string user = value("user");
  if (asked.version >> 16 != 3) {
    code = sqlstate::not_supported;
    why = "unsupported frontend protocol " + std::to_string(asked.version >> 16) + '.' +
          std::to_string(asked.version & 0xffff) + ": the fake knows 3.0";
  } else if (home_.faults.connections == postgres_faults::door::starting) {
    code = sqlstate::starting_up;
    why = "the database system is starting up";
  } else if (full) {
    code = sqlstate::too_many_connections;
    why = "too many connections: postgres_options::connections_max allows " +
          std::to_string(home_.options.connections_max);
  } else if (user.empty()) {
    code = sqlstate::bad_authorization;
    why = "no PostgreSQL user name specified in startup packet";
  } else if (!home_.options.user.empty() && user != home_.options.user) {
    code = sqlstate::bad_authorization;
    why = "role \"" + user + "\" does not exist";
  }
  if (code != nullptr) {
    const start refused = co_await refuse(code, why);
    co_return refused;
  }
  announce(asked);
  const bool trusted = co_await authenticate();
  if (!trusted) {
    why = "password authentication failed for user \"" + user + '"';
    const start refused = co_await refuse(sqlstate::bad_password, why);
    co_return refused;
  }
  std::string body;
  put_number(body, 0, 4);
  put_message(out_, 'R', body);
  settings_["application_name"] = value("application_name");
  for (const char* name : {"server_version", "server_encoding", "client_encoding",
                           "application_name", "integer_datetimes", "standard_conforming_strings"})
    put_parameter(out_, name, settings_[name]);
  put_parameter(out_, "DateStyle", settings_["datestyle"]);
  put_parameter(out_, "TimeZone", settings_["timezone"]);
  body.clear();
  put_number(body, number_, 4);
  put_number(body, secret_, 4);
  put_message(out_, 'K', body);
  ready();
  co_await flush();
  co_return start::ready;
}

/// Tells a client of a newer minor version which version it gets (NegotiateProtocolVersion).
void pg_session::announce(const pg_startup& asked) {
  std::vector<std::string> unknown;
  for (const auto& [name, value] : asked.parameters)
    if (name.starts_with("_pq_.")) unknown.push_back(name);
  if ((asked.version & 0xffff) == 0 && unknown.empty()) return;
  std::string body;
  put_number(body, 0, 4);
  put_number(body, static_cast<std::uint32_t>(unknown.size()), 4);
  for (const std::string& name : unknown) body.append(name).append(1, '\0');
  put_message(out_, 'v', body);
}

/// Asks for the password, if there is one. Whether it was right.
task<bool> pg_session::authenticate() {
  if (home_.options.password.empty()) co_return true;
  std::string body;
  put_number(body, 3, 4);  // AuthenticationCleartextPassword
  put_message(out_, 'R', body);
  co_await flush();
  const std::optional<pg_message> m = co_await next_message(false);
  if (!m) end_session(std::errc::connection_reset);
  if (m->type != 'p')
    throw pg_error(sqlstate::protocol_violation, "expected the password of the user");
  pg_body in(m->body);
  const std::string given = in.text();
  in.end();
  co_return given == home_.options.password;
}

task<> pg_session::run(bool full) {
  start how = start::refused;
  std::optional<pg_error> broken;
  try {
    how = co_await with_timeout(begin(full), home_.options.startup_time);
    while (how == start::ready) {
      std::optional<pg_message> m = co_await next_message(false);
      if (!m || m->type == 'X') co_return;
      co_await handle(*m);
    }
  } catch (const pg_error& e) {
    broken = e;  // a breach of the protocol: the session cannot go on
  }
  if (broken) {
    roll_back();  // sending the error may take long
    const std::string why = broken->what();
    const start refused = co_await refuse(broken->sqlstate(), why);
    how = refused;
  }
  if (how == start::refused) co_await finish(on_, linger);
}

task<> pg_session::handle(const pg_message& m) {
  if (m.type == 'S') {
    pg_body(m.body).end();
    skipping_ = false;
    co_await sync();
  } else if (skipping_) {
    co_return;
  } else if (m.type == 'Q') {
    co_await simple_query(m.body);
  } else if (m.type == 'H') {
    pg_body(m.body).end();
    co_await flush();
  } else if (m.type == 'F') {
    report(pg_error(sqlstate::not_supported, "the fake has no function calls"));
    ready();
    co_await flush();
  } else if (m.type == 'd' || m.type == 'c' || m.type == 'f') {
    co_return;  // the rest of a COPY that was refused
  } else if (std::string_view("PBDEC").find(m.type) != std::string_view::npos) {
    co_await extended(m);
  } else {
    throw pg_error(
        sqlstate::protocol_violation,
        "invalid frontend message type " + std::to_string(static_cast<unsigned char>(m.type)));
  }
}

}  // namespace heddle::fakes::detail
