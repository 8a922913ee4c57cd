// SPDX-License-Identifier: MIT
// A proxy in front of a server of ours, or of one that sends the bytes it is told to.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/harness.hh"
#include "heddle/proxy/reverse_proxy.hh"

namespace heddle::test {

/// What a backend saw of its requests: their heads' fields, as lines, with names in lower case as
/// HTTP/2 has them.
inline std::string fields_of(const http::request& r) {
  std::string all(r.head().method_text());
  all.append(" ").append(r.head().target()).append("\n");
  for (std::size_t i = 0; i < r.head().header_count(); ++i) {
    for (const char c : r.head().header_at(i).name)
      all += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    all.append(": ").append(r.head().header_at(i).value).append("\n");
  }
  return all;
}

// Named, because GCC 12 destroys a `{}` in an awaited call twice.
inline const http::proxy_options usual;
inline const http::server_options usual_front;

/// Runs body(front, proxy) with a proxy in front of these upstreams.
template <class Body>
task<> with_proxy_to(http::proxy_options options, Body body,
                     http::server_options front = usual_front) {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  const address at = door.local();
  http::reverse_proxy proxy(std::move(options));
  http::server web(proxy, std::move(front));
  scope s;
  s.spawn(web.serve(door));
  try {
    co_await body(at, proxy);
  } catch (...) {
    s.fail(std::current_exception());
  }
  web.stop();
  web.stop();
  co_await s.settled();
  s.rethrow_failure();
}

/// The scheme of with_proxy()'s backend, which says the version of HTTP: HEDDLE_TEST_UPSTREAM is
/// `1` (the default) or `2`.
inline std::string upstream_scheme() {
  static const char* const named = std::getenv("HEDDLE_TEST_UPSTREAM");
  return named != nullptr && std::string_view(named) == "2" ? "h2c://" : "http://";
}

/// The same with a backend of this handler, whose address comes first among the upstreams.
template <class Body>
task<> with_proxy(http::handler backend, http::proxy_options options, Body body,
                  http::server_options front = usual_front) {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  options.upstreams.insert(options.upstreams.begin(), upstream_scheme() + door.local().to_string());
  http::server web(std::move(backend));
  scope s;
  s.spawn(web.serve(door));
  try {
    co_await with_proxy_to(std::move(options), std::move(body), std::move(front));
  } catch (...) {
    s.fail(std::current_exception());
  }
  web.stop();
  web.stop();
  co_await s.settled();
  s.rethrow_failure();
}

}  // namespace heddle::test
