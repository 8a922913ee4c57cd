// SPDX-License-Identifier: MIT
// heddle proxy [ADDRESS]:PORT URL...: a reverse proxy. It is the service of `heddle serve` with
// another part that answers. Its settings are rows of its own, and those rows of `heddle serve`
// that make sense for it.
#include <algorithm>
#include <memory>

#include "heddle/http/detail/http2_frame.hh"
#include "heddle/http/headers.hh"
#include "heddle/proxy/reverse_proxy.hh"
#include "serve/checks.hh"
#include "serve/serve_rows.hh"
#include "serve/values.hh"

namespace heddle::serve {
namespace proxy_rows {
namespace {

using enum help_page;
using sv = std::string_view;

using opts = serve_options;
using to = http::proxy_options;
using timeouts = http::proxy_timeouts;
using checks = http::health_checks;
using failures = http::failure_limit;
using http2 = http::client_http2;
constexpr auto proxy = &opts::proxy;
constexpr auto times = &to::timeouts;

template <std::uint64_t Least, auto... Path>
constexpr setting_value small_count = count_in<Least, 1'000'000, Path...>;

/// Reads "8080", ":8080", "127.0.0.1:8080", "[::1]:8080".
void set_listen(serve_options& o, sv text) {
  sv port = text;
  o.bind.clear();
  o.everywhere = false;
  if (text.starts_with(':')) {
    port = text.substr(1);
    o.everywhere = true;
  } else if (text.find_first_not_of("0123456789") != text.npos) {
    const std::size_t colon = text.rfind(':');
    const auto at = address::parse(with_zone_number(text));
    if (!at || colon == text.npos || (text.front() == '[') != at->is_v6())
      throw bad_setting("'" + std::string(text) +
                        "' is no place to listen; write :8080 for every interface, or "
                        "127.0.0.1:8080");
    port = text.substr(colon + 1);
    o.bind = at->host();
  } else {
    o.everywhere = true;
  }
  o.port = port_of(port);
}

std::string show_listen(const serve_options&) {
  return "127.0.0.1:" + std::to_string(default_port);
}

bool has_scheme(sv text) {
  return text.find("://") != text.npos || http::equal_ignoring_case(text.substr(0, 5), "unix:");
}

void add_upstream(serve_options& o, sv text) {
  const bool named = has_scheme(text);
  if (!text.empty() && text.find_first_not_of("0123456789") == text.npos)
    throw bad_setting("'" + std::string(text) +
                      "' is no upstream: write HOST:PORT, as 127.0.0.1:" + std::string(text) +
                      "; a switch such as --no-upgrade takes no word behind it");
  std::string upstream = named ? std::string(text) : "http://" + std::string(text);
  try {
    const http::reverse_proxy tried({.upstreams = {upstream}});
  } catch (const failure& e) {
    std::string why = e.what();
    const std::string of_code = ": " + e.code().message();
    if (why.ends_with(of_code)) why.resize(why.size() - of_code.size());
    // The scheme that was put in front is not the user's.
    if (!named && why.starts_with("'" + upstream + "'")) why.replace(1, upstream.size(), text);
    throw bad_setting(why);
  }
  o.proxy.upstreams.push_back(std::move(upstream));
}

constexpr word_list<http::balance, 3> balances{"way to choose",
                                               {{"round-robin", http::balance::round_robin},
                                                {"least-requests", http::balance::least_requests},
                                                {"client-address", http::balance::client_address}}};
constexpr word_list<bool, 2> hosts{"choice", {{"keep", true}, {"upstream", false}}};

void set_forwarded(serve_options& o, sv text) {
  if (text != "both" && text != "x-forwarded" && text != "forwarded" && text != "off")
    throw bad_setting("'" + std::string(text) +
                      "' is no choice; write both, x-forwarded, forwarded or off");
  o.proxy.x_forwarded = text == "both" || text == "x-forwarded";
  o.proxy.forwarded = text == "both" || text == "forwarded";
}

std::string show_forwarded(const serve_options& o) {
  if (o.proxy.forwarded) return o.proxy.x_forwarded ? "both" : "forwarded";
  return o.proxy.x_forwarded ? "x-forwarded" : "off";
}

void set_via(serve_options& o, sv text) {
  if (text != "off" && !http::token_valid(text))
    throw bad_setting("'" + std::string(text) + "' is no name; write one word, or off");
  o.proxy.via = text == "off" ? "" : text;
}

std::string show_via(const serve_options& o) { return o.proxy.via.empty() ? "off" : o.proxy.via; }

void set_health(serve_options& o, sv text) {
  if (!text.starts_with('/') || text.find(' ') != text.npos || !http::value_valid(text))
    throw bad_setting("'" + std::string(text) + "' is no path; write /health");
  o.proxy.health.path = text;
}

/// Sets the number of streams. The connection's window follows, so that answers that are not read
/// never stop the others.
void set_streams(serve_options& o, sv text) {
  http2& to_set = o.proxy.http2;
  const std::uint64_t most = http::http2_window_max / to_set.stream_window;
  to_set.streams_max = static_cast<std::uint32_t>(number_within(text, "number", 1, most));
  to_set.connection_window =
      std::max(to_set.connection_window, to_set.streams_max * to_set.stream_window);
}

/// The row of `heddle serve` with this name, on a page of its own, perhaps with other words. A name
/// that `heddle serve` does not have does not compile.
consteval setting from_serve(sv name, help_page page, sv help = {}) {
  const std::size_t at = place_of(serve_rows::all, name);
  if (at == std::size(serve_rows::all)) throw "heddle serve has no setting of this name";
  setting s = serve_rows::all[at];
  s.page = page;
  if (!help.empty()) s.help = help;
  return s;
}

constexpr setting all[] = {
    {"listen", "where clients come (default {})", site,
     one("[ADDRESS]:PORT", &set_listen, &show_listen)},
    {"upstream", "a server to send requests to", site, each("URL", &add_upstream)},
    {"balance", "round-robin, least-requests or client-address", common,
     named("HOW", word_at<balances, proxy, &to::by>), 'b'},
    {"health", "ask for this path now and then; 200 to 399 is good", common,
     one("PATH", &set_health)},
    {"host", "Host for upstreams: {} (default) or upstream", common,
     named("WHICH", word_at<hosts, proxy, &to::keep_host>)},
    {"forwarded", "{} (default), x-forwarded, forwarded or off", site,
     one("WHICH", &set_forwarded, &show_forwarded)},
    {"via", "the name in Via, or off (default {})", site, one("NAME", &set_via, &show_via)},
    {"health-interval", "between two health checks (default {})", site,
     span_at<proxy, &to::health, &checks::interval>},
    {"health-timeout", "for one health check (default {})", site,
     span_at<proxy, &to::health, &checks::timeout>},
    {"health-rise", "good ones in a row that bring it back (default {})", site,
     small_count<1, proxy, &to::health, &checks::rise>},
    {"health-fall", "failures in a row that take it out (default {})", site,
     small_count<1, proxy, &to::health, &checks::fall>},
    {"fail", "failed requests that take it out (default {}; 0: never)", site,
     small_count<0, proxy, &to::failures, &failures::count>},
    {"fail-within", "in which they fail (default {})", site,
     span_at<proxy, &to::failures, &failures::within>},
    {"fail-pause", "for which it is out (default {})", site,
     span_at<proxy, &to::failures, &failures::pause>},
    {"tries", "upstreams for one request that is safe to repeat (default {})", site,
     small_count<1, proxy, &to::tries_max>},
    {"no-upgrade", "no WebSocket and no other upgrades", site, opposite_at<proxy, &to::upgrades>},
    {"half-closed", "clients may end their side and wait for the answer", site,
     opposite_at<proxy, &to::cancel_when_client_ends>},
    {"send-proxy-protocol", "1 or 2: tell upstreams the client by its header", site,
     named("VERSION", count_in<1, 2, proxy, &to::proxy_protocol>)},
    {"connect-timeout", "to reach an upstream (default {})", limits,
     span_at<proxy, times, &timeouts::connect>},
    {"answer-timeout", "for the head of an answer (default {})", limits,
     span_at<proxy, times, &timeouts::answer>},
    {"transfer-timeout", "in which a body must move (default {})", limits,
     span_at<proxy, times, &timeouts::transfer>},
    {"queue-timeout", "for a free connection (default {})", limits,
     span_at<proxy, times, &timeouts::queue>},
    {"tunnel-timeout", "of an upgraded connection (default {})", limits,
     span_at<proxy, times, &timeouts::tunnel>},
    {"upstream-idle", "keep an unused connection (default {})", limits,
     span_at<proxy, times, &timeouts::idle>},
    {"upstream-connections", "to each, per worker; more wait (default {})", limits,
     small_count<1, proxy, &to::connections_max>},
    {"upstream-kept", "unused ones kept, per worker (default {})", limits,
     small_count<0, proxy, &to::idle_max>},
    {"no-upstream-http2", "https upstreams get HTTP/1.1 alone", limits,
     opposite_at<proxy, &to::http2, &http2::enabled>},
    {"upstream-http2", "connections of HTTP/2 to each, per worker (default {})", limits,
     small_count<1, proxy, &to::http2, &http2::connections_max>},
    {"upstream-streams", "requests at once on each of these (default {})", limits,
     one("COUNT", &set_streams, count_at<proxy, &to::http2, &http2::streams_max>.show)},
    {"refused-retries", "of a request that HTTP/2 refuses (default {})", limits,
     small_count<0, proxy, &to::http2, &http2::refused_retries_max>},
    {"repeat-bytes", "kept of a body for such a retry (default {})", limits,
     size_at<proxy, &to::repeat_bytes_max>},
    from_serve("tls", common),
    from_serve("acme", common),
    from_serve("acme-name", site, "order a certificate for this name"),
    from_serve("acme-agree", site),
    from_serve("acme-directory", site),
    from_serve("acme-ca", site),
    from_serve("acme-store", site),
    from_serve("acme-account", site),
    from_serve("hsts", site),
    from_serve("redirect-http", common),
    from_serve("auth", site),
    from_serve("header", site),
    from_serve("rate", common),
    from_serve("body", common, "of a request body; more is 413 (default {})"),
    from_serve("trusted-proxy", common),
    from_serve("trusted-field", site),
    from_serve("proxy-protocol", site),
    from_serve("log", common),
    from_serve("log-file", site),
    from_serve("metrics", common),
    from_serve("handover", common),
    from_serve("workers", common),
    from_serve("config", common),
    from_serve("check", common),
    from_serve("driver", limits),
    from_serve("connections", limits),
    from_serve("connections-per-address", limits),
    from_serve("trusted", limits, "clients not limited by address: 10.0.0.0/8"),
    from_serve("request-line", limits),
    from_serve("header-bytes", limits),
    from_serve("header-count", limits),
    from_serve("pipeline", limits),
    from_serve("send", limits),
    from_serve("idle-timeout", limits),
    from_serve("header-timeout", limits),
    from_serve("body-timeout", limits),
    from_serve("body-rate", limits),
    from_serve("write-timeout", limits),
    from_serve("drain-timeout", limits),
    from_serve("queue-delay", limits),
    from_serve("retry-after", limits),
    from_serve("address-space", limits),
};
static_assert(is_sound(all) && place_of(all, "config") != std::size(all));

serve_options proxy_defaults() {
  serve_options o;
  o.is_proxy = true;
  o.server.bounds.body_bytes_max = std::uint64_t{64} << 20;
  return o;
}

/// Words without a flag: where to listen, then the upstreams.
void add_words(std::vector<setting_request>& requests, const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool is_url = has_scheme(word);
    const setting& s = all[place_of(all, i == 0 && !is_url ? "listen" : "upstream")];
    requests.push_back({&s, word, std::string(s.name)});
  }
}

}  // namespace
}  // namespace proxy_rows

const setting_table& proxy_settings() {
  static constexpr setting_table table{
      .verb = "proxy",
      .variable_prefix = "HEDDLE_PROXY_",
      .all = proxy_rows::all,
      .config = &proxy_rows::all[place_of(proxy_rows::all, "config")],
      .defaults = &proxy_rows::proxy_defaults,
      .check = &check_proxy,
      .heads =
          {"heddle proxy [ADDRESS]:PORT URL...: send requests on to these servers\n\n"
           "  heddle proxy :8080 http://127.0.0.1:3000       h2c://... for HTTP/2, as of gRPC\n"
           "  heddle proxy :443 --tls site.pem site.key unix:/run/app.socket\n\n",
           "heddle proxy: upstreams, health, what they are told, logs\n\n",
           "heddle proxy: limits and times\n"},
      .foot =
          "Each is also NAME = VALUE in the file and HEDDLE_PROXY_NAME in the environment.\n"
          "--help-site: health, fields, failures, logs. --help-limits: times and limits.\n",
      .column = 27,
      .add_words = &proxy_rows::add_words};
  return table;
}

}  // namespace heddle::serve
