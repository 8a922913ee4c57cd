// SPDX-License-Identifier: MIT
// Fakes beside a body of a test: a task that serves, which is cancelled when the body has ended;
// and raw connections that read up to a text or to the end.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "heddle/heddle.hh"
#include "heddle/io/tcp.hh"
#include "heddle/io/udp.hh"
#include "support/drivers.hh"

namespace heddle::test {

using namespace std::chrono_literals;

/// Runs `body()`, a task, beside `served`, which is then cancelled.
template <class Body>
task<> beside(task<> served, Body body) {
  const auto all = [&served, &body](scope& s) -> task<> {
    s.spawn(std::move(served));
    co_await body();
    s.cancel();
  };
  try {
    co_await with_scope(all);
  } catch (const std::system_error& e) {
    if (e.code() != std::errc::operation_canceled) throw;
  }
}

/// A UDP socket and a listener with one port of this machine.
struct dns_doors {
  udp_socket udp;
  tcp_listener tcp;
};
inline dns_doors open_dns_doors() {
  for (int i = 0;; ++i) {
    try {
      dns_doors made;
      made.udp = udp_socket::bind(address::loopback(0));
      made.tcp = tcp_listener::listen(made.udp.local());
      return made;
    } catch (const std::system_error&) {
      if (i == 20) throw;  // another program has the TCP port each time
    }
  }
}

/// Sends a text and gives all that comes back, up to the end of the stream; "(reset)" marks a
/// broken one.
inline task<std::string> converse(const address& to, std::string text) {
  const tcp_stream conn = co_await tcp_connect(to);
  static_cast<void>(co_await as_expected(conn.write(std::string_view(text))));
  std::string got;
  for (;;) {
    auto next = co_await as_expected(conn.receive());
    if (!next && next.error() == std::errc::operation_canceled) throw failure(next.error());
    if (!next) co_return got + "(reset)";
    if (next->empty()) co_return got;
    got += next->text();
  }
}

}  // namespace heddle::test
