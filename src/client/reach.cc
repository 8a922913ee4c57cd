// SPDX-License-Identifier: MIT
// Opens a connection to an origin: directly or through a proxy, with TLS for https.
#include <algorithm>

#include "client/core.hh"
#include "heddle/client/connect.hh"
#include "heddle/core/expected.hh"
#if HEDDLE_WITH_TLS
#include "heddle/tls/stream.hh"
#endif

namespace heddle::http::detail {
namespace {

/// Drops the dot at the end of a full name: "localhost." is localhost.
std::string_view without_root(std::string_view host) noexcept {
  if (host.size() > 1 && host.ends_with('.')) host.remove_suffix(1);
  return host;
}

bool host_listed(const std::vector<std::string>& list, std::string_view full) {
  const std::string_view host = without_root(full);
  return std::ranges::any_of(list, [&](std::string_view listed) {
    const std::string_view each = without_root(listed);
    return each.starts_with('.') ? host.ends_with(each) || host == each.substr(1) : host == each;
  });
}

}  // namespace

secure_layer default_secure_layer(bool http2) {
#if HEDDLE_WITH_TLS
  // Reading the system's authorities takes milliseconds, so it is done at the first https request.
  return [http2, kept = std::make_shared<std::optional<tls::client_context>>()](stream over,
                                                                                std::string host) {
    if (!*kept) {
      tls::client_options offers;
      if (http2) offers.alpn.emplace_back("h2");
      offers.alpn.emplace_back("http/1.1");
      kept->emplace(std::move(offers));
    }
    return tls::connect(std::move(over), std::move(host), **kept);
  };
#else
  static_cast<void>(http2);
  return [](stream, std::string host) -> task<stream> {
    throw failure(std::make_error_code(std::errc::not_supported),
                  "https://" + host +
                      " needs TLS, which this build does not have; install OpenSSL "
                      "3 and build again, or set client_options::secure");
    co_return stream();
  };
#endif
}

bool client_core::through_proxy(const url& at) const {
  return proxy_.has_value() && !host_listed(options->proxy.except, at.host);
}

/// Asks a proxy by CONNECT for a tunnel: the proxy then passes bytes to the host.
task<stream> client_core::tunnel(stream on, url to) const {
  const std::string name = to.host_and_port();
  std::string head = "CONNECT " + name + " HTTP/1.1\r\nHost: " + name + "\r\n";
  if (!options->proxy.authorization.empty())
    head += "Proxy-Authorization: " + options->proxy.authorization + "\r\n";
  head += "\r\n";
  co_await on.write(byte_view(std::string_view(head)));
  const auto refused = [&](std::errc code, const std::string& why) {
    throw failure(std::make_error_code(code),
                  "the proxy " + proxy_->origin() + " did not connect to " + name + ": " + why);
  };
  response_parser parser(options->bounds);
  for (;;) {
    received in = co_await on.receive();
    if (in.empty()) refused(std::errc::connection_reset, "it closed the connection");
    std::string_view bytes = in.text();
    const parse_state now = parser.feed(bytes);
    if (now == parse_state::failed)
      refused(std::errc::bad_message, std::string(describe(parser.error())));
    if (now == parse_state::need_more) continue;
    const response_head answer = parser.take();
    if (answer.status() / 100 != 2)
      refused(answer.status() == 407 ? std::errc::permission_denied : std::errc::connection_refused,
              "it answered " + std::to_string(answer.status()) +
                  (answer.status() == 407 ? "; set client_proxy::authorization" : ""));
    if (!bytes.empty()) refused(std::errc::bad_message, "it sent bytes behind its answer");
    co_return on;
  }
}

task<stream> client_core::connect(url to, bool http1_only) const {
  const bool proxied = through_proxy(to);
  const url& first = proxied ? *proxy_ : to;
  names::lookup_options with;
  with.port = first.port;
  names::found got = co_await resolver_->lookup(first.host, with);
  stream on =
      co_await connect_first(options->tcp, std::move(got.addresses), options->timeouts.stagger);
  if (!to.secure) co_return on;
  if (proxied) on = co_await tunnel(std::move(on), to);
  co_return co_await (http1_only ? secure_http1_ : secure_)(std::move(on), to.host);
}

}  // namespace heddle::http::detail
