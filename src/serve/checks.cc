// SPDX-License-Identifier: MIT
// Rejects settings that contradict each other, because one of them would be ignored.
#include "serve/checks.hh"

#include "heddle/http/headers.hh"
#include "serve/door.hh"
#include "serve/qr.hh"
#include "serve/values.hh"

namespace heddle::serve {
namespace {

void check_address(const serve_options& o) {
  if (!o.everywhere || o.bind.empty()) return;
  if (const auto at = address::parse(o.bind, 1); at && at->is_loopback())
    throw bad_setting("--public is for other machines, and --bind " + o.bind +
                      " for this one only; leave one of them out");
}

void check_https(const serve_options& o) {
  if (o.secure()) return;
  if (o.redirect_http >= 0)
    throw bad_setting(
        "redirect-http sends visitors to https, and there is neither --tls nor --acme");
  if (o.tls_own_records)
    throw bad_setting("tls-own-records is about https, and there is neither --tls nor --acme");
}

void check_listen(const serve_options& o) {
  if (o.listen.empty()) return;
  if (o.user)
    throw bad_setting("--listen opens sockets, which --net user has not; leave one of them out");
}

void check_net(const serve_options& o) {
  if (!o.user) return;
  if (!o.handover.empty())
    throw bad_setting("--handover passes a socket, and --net user has none; leave one of them out");
  if (o.redirect_http >= 0)
    throw bad_setting("--redirect-http opens a socket, which --net user has not; leave one out");
  if (!o.bind.empty() || o.everywhere)
    throw bad_setting("--net user serves on its own address; leave --bind and --public out");
}

void check_pages_on(const serve_options& o) {
  if (!o.origins.empty() && !o.pages)
    throw bad_setting("--page-fetch is about pages, which --pages turns on; add it");
}

void check_qr(const serve_options& o) {
  if (o.qr && !draws_qr)
    throw bad_setting(
        "--qr needs a heddle with libqrencode: install libqrencode-dev and build it again");
}

void check_proxies(const serve_options& o) {
  if (!o.proxy_protocol) return;
  if (o.server.trusted_proxies.empty())
    throw bad_setting(
        "--proxy-protocol believes only proxies that you name: add --trusted-proxy NETWORK");
  if (o.redirect_http >= 0)
    throw bad_setting(
        "--proxy-protocol is for one port, and --redirect-http opens another; leave one out");
}

void check_heralds(const serve_options& o) {
  if (o.proxy.proxy_protocol == 0) return;
  for (const std::string& each : o.proxy.upstreams)
    if (http::equal_ignoring_case(std::string_view(each).substr(0, 6), "h2c://"))
      throw bad_setting(
          "--send-proxy-protocol names one client for a connection, and clients "
          "share those to " +
          each + "; leave it out, or write http://");
}

/// Rejects a second rule about the same thing: it would never be used.
void check_twice(const serve_options& o) {
  for (auto at = o.sites.begin(); at != o.sites.end(); ++at)
    for (auto other = o.sites.begin(); other != at; ++other)
      if (http::equal_ignoring_case(at->first, other->first))
        throw bad_setting("site " + at->first + " has two folders, " + other->second + " and " +
                          at->second + "; leave one of them out");
  for (auto at = o.redirects.begin(); at != o.redirects.end(); ++at)
    for (auto other = o.redirects.begin(); other != at; ++other)
      if (at->from == other->from)
        throw bad_setting("redirect " + at->from.text() + " leads to two places, " + other->to +
                          " and " + at->to + "; leave one of them out");
}

/// A second one would halve the limits of each, and count failures apart.
void check_upstreams(const serve_options& o) {
  const std::vector<std::string>& all = o.proxy.upstreams;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t before = 0; before < i; ++before)
      if (all[i].starts_with("unix:") ? all[before] == all[i]
                                      : http::equal_ignoring_case(all[before], all[i]))
        throw bad_setting("the upstream " + all[i] + " is named twice; leave one out");
}

}  // namespace

void check_serve(const serve_options& o) {
  check_address(o);
  check_twice(o);
  check_net(o);
  check_listen(o);
  check_qr(o);
  check_pages_on(o);
  check_places(o);
  check_proxies(o);
  check_https(o);
  check_acme(o);
}

void check_proxy(const serve_options& o) {
  check_address(o);
  check_places(o);
  check_proxies(o);
  check_https(o);
  check_acme(o);
  check_heralds(o);
  check_upstreams(o);
  if (o.proxy.upstreams.empty())
    throw bad_setting(
        "name the server to send requests to: heddle proxy :8080 "
        "http://127.0.0.1:3000");
}

}  // namespace heddle::serve
