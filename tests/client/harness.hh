// SPDX-License-Identifier: MIT
// A client beside a server: ours with a handler, or one that sends the bytes it is told to.
#pragma once

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "heddle/client/client.hh"
#include "web/harness.hh"

namespace heddle::test {

/// The version of HTTP that of_version() asks for: HEDDLE_TEST_HTTP is `1` (the default) or `2`.
inline bool over_http2() noexcept {
  static const char* const named = std::getenv("HEDDLE_TEST_HTTP");
  return named != nullptr && std::string_view(named) == "2";
}

/// Options of a client for our own server.
inline http::client_options of_version(http::client_options options = {}) {
  options.http2.prior_knowledge = over_http2();
  return options;
}

/// Unused connections after a request that ends its connection, or its stream alone.
inline std::size_t kept_by_http2() noexcept { return over_http2() ? 1 : 0; }

inline std::string url_of(address at, std::string_view target = "/") {
  return "http://" + at.to_string() + std::string(target);
}

/// What each connection of a scripted server sends, after each request's head; "" closes.
using script = std::vector<std::vector<std::string>>;

struct scripted_server {
  explicit scripted_server(script lines) : plays(std::move(lines)) {}

  task<> connection(stream on, std::vector<std::string> answers) {
    try {
      for (const std::string& answer : answers) {
        std::string got;
        while (got.find("\r\n\r\n") == std::string::npos) {
          received in = co_await on.receive();
          if (in.empty()) co_return;
          got += in.text();
        }
        heads.push_back(got);
        if (answer.empty()) co_return;
        co_await on.write(std::string_view(answer));
      }
      if (stays) {
        while (received in = co_await on.receive()) in.release();
      }
    } catch (const std::system_error& e) {
      if (e.code() == std::errc::operation_canceled) throw;
    }
  }

  task<> serve(tcp_listener door) {
    scope s;
    for (const std::vector<std::string>& answers : plays) {
      auto on = co_await as_expected(door.accept());
      if (!on) break;
      ++accepted;
      s.spawn([](scripted_server& self, stream conn, std::vector<std::string> lines) -> task<> {
        co_await self.connection(std::move(conn), std::move(lines));
        ++self.closed;
      }(*this, std::move(*on), answers));
    }
    co_await s.settled();
  }

  script plays;
  std::vector<std::string> heads;
  int accepted = 0;
  int closed = 0;      // connections; at the client that may not be known yet
  bool stays = false;  // keeps a connection open after its last answer
};

/// Runs body(address, server) beside a scripted server, which is then cancelled.
template <class Body>
task<> with_script(script lines, Body body, bool stays = false) {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  const address at = door.local();
  scripted_server server(std::move(lines));
  server.stays = stays;
  scope s;
  s.spawn(server.serve(door));
  try {
    co_await body(at, server);
  } catch (...) {
    s.fail(std::current_exception());
  }
  s.cancel();
  co_await s.join();
}

/// The error of a request; "" if it has an answer. The code is compared with `code`.
inline task<std::string> error_of(task<http::fetched> request, std::errc code) {
  try {
    const http::fetched got = co_await std::move(request);
    co_return "status " + std::to_string(got.status());
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    co_return e.what();
  }
}

}  // namespace heddle::test
