// SPDX-License-Identifier: MIT
// Redirects http to https. 308 keeps the method and the body (RFC 9110 section 15.4.9).
#include "serve/https_redirect.hh"

#include "heddle/http/uri.hh"
#include "serve/door.hh"

namespace heddle::serve {
namespace {

constexpr std::uint16_t https_default = 443;

/// The host of an authority, with its brackets and without its port.
std::string_view host_of(std::string_view authority) noexcept {
  const std::size_t bracket = authority.rfind(']');
  return authority.substr(0, authority.find(':', bracket == authority.npos ? 0 : bracket));
}

http::response elsewhere(const http::request_head& head, std::uint16_t port) {
  const std::string_view host = host_of(head.authority());
  if (host.empty()) return http::error_response(400, "the request names no host");
  std::string place = "https://" + std::string(host);
  if (port != https_default) (place += ':') += std::to_string(port);
  std::string target(head.path() == "*" ? "/" : head.path());
  if (head.has_query()) (target += '?') += head.query();
  http::response r = http::error_response(308, "this site is on https");
  r.header("Location", http::own_location(target, place));
  return r;
}

task<http::response> answer_plainly(const certificates& certs, const http::request_head& head,
                                    std::uint16_t https_port) {
  if (auto answer = certs.answer(head)) co_return std::move(*answer);
  co_return elsewhere(head, https_port);
}

http::server_options limits_of(const serve_options& o) {
  http::server_options limits = o.server;
  limits.drain_bytes_max = limits.bounds.body_bytes_max;
  return limits;
}

}  // namespace

task<tcp_listener> open_http_door(const serve_options& o, std::vector<int>& given) {
  if (o.redirect_http < 0) co_return tcp_listener();
  serve_options there = o;
  there.port = o.redirect_http;
  if (auto door = given_door(there, given)) co_return std::move(*door);
  co_return co_await open_door(there, false, "--redirect-http");
}

https_redirect::https_redirect(const serve_options& o, std::uint16_t https_port,
                               const certificates& certs)
    : web_([https_port,
            &certs](http::request& r) { return answer_plainly(certs, r.head(), https_port); },
           limits_of(o)) {}

task<> https_redirect::serve(tcp_listener door) {
  door_ = std::move(door);
  co_await web_.serve(door_);
}

task<> https_redirect::drain(nanoseconds grace) {
  web_.end_kept_connections();
  if (door_.is_open()) co_await close_doors(door_, {}, grace);
  web_.stop();
}

}  // namespace heddle::serve
