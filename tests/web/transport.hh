// SPDX-License-Identifier: MIT
// What the tests of HTTP run over: HEDDLE_TEST_TRANSPORT is `tcp` (the default), `unix`, `layer`,
// which is TCP below a layer that splits bytes anew and delays some (support/resplit.hh), `tls`, or
// `user`, which is TCP in the program over a simulated wire.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "heddle/io/tcp.hh"
#include "heddle/io/unix.hh"
#include "heddle/net/simulated.hh"
#include "support/resplit.hh"
#if HEDDLE_WITH_TLS
#include "heddle/tls/stream.hh"
#include "support/tls_files.hh"
#endif

namespace heddle::test {

inline std::string_view transport() noexcept {
  static const char* const named = std::getenv("HEDDLE_TEST_TRANSPORT");
  return named == nullptr ? "tcp" : named;
}

/// At the beginning of a test that opens sockets of its own, or asks for what only TCP has.
#define HEDDLE_NEEDS_TCP() \
  if (::heddle::test::transport() != "tcp") GTEST_SKIP() << "it needs TCP"

inline bool is_layered() noexcept {
  return transport() == "layer" || transport() == "tls" || transport() == "user";
}

/// At the beginning of a test that takes one block for one answer, or counts what only sockets
/// have: blocks of the driver's, bodies that leave without a copy, pauses of accepting.
#define HEDDLE_NEEDS_SOCKET()       \
  if (::heddle::test::is_layered()) \
  GTEST_SKIP() << "it needs a socket, or its pieces as they were sent"

/// At the beginning of a test that gives the links of the simulated world's sockets a speed.
#define HEDDLE_NEEDS_SIM_LINKS() \
  if (::heddle::test::transport() == "user") GTEST_SKIP() << "its wire has no such links"

/// A Unix socket of this process that stands for a port.
inline std::string unix_name(const address& at) {
  return "@heddle-test-" + std::to_string(::getpid()) + "-" + std::to_string(at.port());
}

#if HEDDLE_WITH_TLS
inline tls::server_context tls_site() {
  return tls::server_context(
      {.certificates = {tls_files::get().certificate("site")}, .own_records = tests_own_records()});
}
inline tls::client_context tls_client() {
  return tls::client_context({.authorities = tls_files::get().authority()});
}
#endif

/// The two hosts and the wire of transport `user`, for as long as a door or a connection uses them.
inline std::shared_ptr<net::simulated> wire() {
  static std::weak_ptr<net::simulated> now;
  std::shared_ptr<net::simulated> w = now.lock();
  if (w == nullptr)
    now = w = std::make_shared<net::simulated>(net::simulated_options{
        .client = {.receive_window_bytes = 16384}, .server = {.send_queue_bytes = 16384}});
  return w;
}

/// A listener that keeps the wire.
class wired_source final : public stream_source {
 public:
  explicit wired_source(std::shared_ptr<net::simulated> w) : wire_(std::move(w)) {
    auto [door, bound] = wire_->server().listen(address::any(0));
    door_ = std::move(door);
    at = bound;
  }
  task<stream> next() override { co_return co_await door_.accept(); }
  void close() noexcept override { door_.close(); }
  address at;

 private:
  std::shared_ptr<net::simulated> wire_;
  listener door_;
};

/// A listener, and the address that connect_to() takes for it.
inline std::pair<listener, address> open_door() {
  if (transport() == "unix") {
    static std::atomic<std::uint16_t> last{0};
    const address at = address::loopback(++last);
    return {unix_listener::listen(unix_name(at)), at};
  }
  if (transport() == "user") {
    auto source = std::make_unique<wired_source>(wire());
    const address at = source->at;
    return {make_listener(std::move(source)), at};
  }
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  const address at = door.local();
  if (transport() == "layer")
    return {make_listener(std::make_unique<resplit_source>(std::move(door))), at};
#if HEDDLE_WITH_TLS
  if (transport() == "tls") return {tls::listen(std::move(door), tls_site()), at};
#endif
  return {std::move(door), at};
}

inline task<stream> connect_to(address at) {
#if HEDDLE_WITH_TLS
  if (transport() == "tls")
    co_return co_await tls::connect(co_await tcp_connect(at), "localhost", tls_client());
#endif
  if (transport() == "user") {
    const std::shared_ptr<net::simulated> over = wire();
    co_return co_await over->client().connect(at);
  }
  if (transport() == "unix") co_return co_await unix_connect(unix_name(at));
  co_return co_await tcp_connect(at);
}

}  // namespace heddle::test
