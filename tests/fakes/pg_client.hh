// SPDX-License-Identifier: MIT
// A client of PostgreSQL's protocol by raw bytes, for tests: it sends messages and gives answers as
// a line of text, such as "T(value) D(5) C(SELECT 1) Z(I)".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fakes/pg_message.hh"
#include "harness.hh"
#include "heddle/fakes/postgres.hh"

namespace heddle::test {

using fakes::postgres_faults;
using fakes::postgres_options;
using fakes::postgres_server;

class pg_client {
 public:
  /// Connects as user "test" and gives what came up to ReadyForQuery, or the end.
  task<std::string> connect(address to, std::string password = "") {
    conn_ = co_await tcp_connect(to);
    in_ = fakes::detail::pg_reader(1 << 20);
    std::string body;
    fakes::detail::put_number(body, 3 << 16, 4);
    body.append("user").append(1, '\0').append("test").append(2, '\0');
    std::string out;
    fakes::detail::put_number(out, static_cast<std::uint32_t>(body.size() + 4), 4);
    out += body;
    if (!password.empty()) fakes::detail::put_text_message(out, 'p', password);
    co_await conn_.write(std::string_view(out));
    const std::string got = co_await answers();
    co_return got;
  }
  /// Sends a simple query and gives its answers.
  task<std::string> query(std::string sql) {
    out.clear();
    fakes::detail::put_text_message(out, 'Q', sql);
    const std::string got = co_await send();
    co_return got;
  }
  /// Sends what `out` holds, and gives the answers up to ReadyForQuery.
  task<std::string> send() {
    const auto sent = co_await as_expected(conn_.write(std::string_view(out)));
    out.clear();
    if (!sent && sent.error() == std::errc::operation_canceled) throw failure(sent.error());
    const std::string got = co_await answers();
    co_return got;
  }

  // Messages of the extended protocol, appended to `out`.
  pg_client& parse(const std::string& name, const std::string& sql) {
    std::string body = name + '\0' + sql + '\0';
    fakes::detail::put_number(body, 0, 2);
    return put('P', body);
  }
  pg_client& bind(const std::string& portal, const std::string& name,
                  const std::vector<std::string>& values) {
    std::string body = portal + '\0' + name + '\0';
    fakes::detail::put_number(body, 0, 2);
    fakes::detail::put_number(body, static_cast<std::uint32_t>(values.size()), 2);
    for (const std::string& v : values) {
      fakes::detail::put_number(body, static_cast<std::uint32_t>(v.size()), 4);
      body += v;
    }
    fakes::detail::put_number(body, 0, 2);
    return put('B', body);
  }
  pg_client& describe(char kind, const std::string& name) {
    return put('D', std::string(1, kind) + name + '\0');
  }
  pg_client& execute(const std::string& portal, std::uint32_t rows = 0) {
    std::string body = portal + '\0';
    fakes::detail::put_number(body, rows, 4);
    return put('E', body);
  }
  pg_client& put(char type, std::string_view body) {
    fakes::detail::put_message(out, type, body);
    return *this;
  }

  /// Reads up to ReadyForQuery, or to the end ("end") or the break ("reset").
  task<std::string> answers() {
    std::string line;
    for (;;) {
      while (auto m = in_.next()) {
        line += (line.empty() ? "" : " ") + text_of_message(*m);
        if (m->type == 'Z') co_return line;
      }
      auto got = co_await as_expected(conn_.receive());
      if (!got && got.error() == std::errc::operation_canceled) throw failure(got.error());
      if (!got) co_return line + " reset";
      if (got->empty()) co_return line + " end";
      in_.feed(got->text());
    }
  }

  tcp_stream& connection() { return conn_; }
  std::string out;
  std::uint32_t number = 0, secret = 0;  // of BackendKeyData

 private:
  std::string text_of_message(const fakes::detail::pg_message& m) {
    fakes::detail::pg_body in(m.body);
    std::string inside;
    if (m.type == 'K') {
      number = in.number(4);
      secret = in.number(4);
      return "K";
    }
    if (m.type == 'S' || m.type == '1' || m.type == '2' || m.type == '3' || m.type == 'n' ||
        m.type == 's' || m.type == 'I')
      return std::string(1, m.type);
    if (m.type == 'E' || m.type == 'N') {
      while (!in.empty()) {
        const char field = in.bytes(1)[0];
        if (field == '\0') break;
        const std::string value = in.text();
        if (field == 'C') inside = value;
        if (field == 'M') last_text = value;
      }
    } else if (m.type == 'T') {
      for (std::uint32_t left = in.number(2); left != 0; --left) {
        inside += (inside.empty() ? "" : ",") + in.text();
        static_cast<void>(in.bytes(18));
      }
    } else if (m.type == 'D') {
      const std::uint32_t count = in.number(2);
      for (std::uint32_t i = 0; i != count; ++i) {
        const std::uint32_t length = in.number(4);
        inside += i == 0 ? "" : ",";
        inside += length == 0xffffffff ? "NULL" : std::string(in.bytes(length));
      }
    } else if (m.type == 'C') {
      inside = in.text();
    } else if (m.type == 'Z') {
      inside = in.bytes(1);
    } else {
      inside = std::to_string(in.number(m.type == 't' ? 2 : 4));
    }
    return std::string(1, m.type) + '(' + inside + ')';
  }

 public:
  std::string last_text;  // of the last error or notice

 private:
  tcp_stream conn_;
  fakes::detail::pg_reader in_{1 << 20};
};

/// Runs body(server, address) beside a database.
template <class Body>
task<> with_database(postgres_options options, Body body) {
  postgres_server server(std::move(options));
  const tcp_listener door = tcp_listener::listen(address::loopback(0));
  const address at = door.local();
  const auto inner = [&]() { return body(server, at); };
  co_await beside(server.serve(door), inner);
}

/// A test in a simulation, with one database.
inline void simulate(task<> (*body)(postgres_server&, address), postgres_options options = {}) {
  runtime rt(std::make_unique<sim_driver>());
  rt.run(with_database(std::move(options), body));
}

}  // namespace heddle::test
