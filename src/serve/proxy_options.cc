// SPDX-License-Identifier: MIT
// The table of settings and the pages of help.
#include "serve/proxy_options.hh"

#include <algorithm>
#include <limits>

#include "heddle/http/headers.hh"
#include "heddle/proxy/reverse_proxy.hh"
#include "serve/values.hh"

namespace heddle::serve {
namespace {

using enum setting_kind;
using sv = std::string_view;

constexpr std::uint64_t proxy_count_most = 1'000'000;

std::uint32_t count_of(sv text, std::uint64_t least) {
  return static_cast<std::uint32_t>(number_within(text, "number", least, proxy_count_most));
}

nanoseconds span_of(sv text) {
  const nanoseconds span = time_of(text);
  if (span == nanoseconds::zero())
    throw bad_setting("no time at all; write 500ms, 10s, 5m, 12h or 30d");
  return span;
}

template <nanoseconds http::proxy_timeouts::* Member>
void set_proxy_time(serve_options& o, sv text) {
  o.proxy->timeouts.*Member = span_of(text);
}

/// "8080", ":8080", "127.0.0.1:8080", "[::1]:8080".
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
  const std::uint64_t value = number(port, "port; write a number from 0 to 65535");
  if (value > 65535) throw bad_setting("a port is at most 65535");
  o.port = static_cast<int>(value);
}

void add_upstream(serve_options& o, sv text) {
  const bool named = text.find("://") != text.npos || text.starts_with("unix:");
  std::string upstream = named ? std::string(text) : "http://" + std::string(text);
  try {
    const http::reverse_proxy tried({.upstreams = {upstream}});
  } catch (const failure& e) {
    std::string why = e.what();
    const std::string of_code = ": " + e.code().message();
    if (why.ends_with(of_code)) why.resize(why.size() - of_code.size());
    throw bad_setting(why);
  }
  o.proxy->upstreams.push_back(std::move(upstream));
}

void set_balance(serve_options& o, sv text) {
  if (text == "round-robin") {
    o.proxy->by = http::balance::round_robin;
  } else if (text == "least-requests") {
    o.proxy->by = http::balance::least_requests;
  } else if (text == "client-address") {
    o.proxy->by = http::balance::client_address;
  } else {
    throw bad_setting("'" + std::string(text) +
                      "' is no way to choose; write round-robin, least-requests or "
                      "client-address");
  }
}

void set_host(serve_options& o, sv text) {
  if (text != "keep" && text != "upstream")
    throw bad_setting("'" + std::string(text) + "' is no choice; write keep or upstream");
  o.proxy->keep_host = text == "keep";
}

void set_forwarded(serve_options& o, sv text) {
  if (text != "both" && text != "x-forwarded" && text != "forwarded" && text != "off")
    throw bad_setting("'" + std::string(text) +
                      "' is no choice; write both, x-forwarded, forwarded or off");
  o.proxy->x_forwarded = text == "both" || text == "x-forwarded";
  o.proxy->forwarded = text == "both" || text == "forwarded";
}

void set_via(serve_options& o, sv text) {
  if (text != "off" && !http::token_valid(text))
    throw bad_setting("'" + std::string(text) + "' is no name; write one word, or off");
  o.proxy->via = text == "off" ? "" : text;
}

void set_health(serve_options& o, sv text) {
  if (!text.starts_with('/') || text.find(' ') != text.npos || !http::value_valid(text))
    throw bad_setting("'" + std::string(text) + "' is no path; write /health");
  o.proxy->health.path = text;
}

constexpr setting own[] = {
    {"listen", 0, once, "[ADDRESS]:PORT", "where clients come (default 127.0.0.1:8000)",
     help_page::site, &set_listen},
    {"upstream", 0, repeated, "URL", "a server to send requests to", help_page::site,
     &add_upstream},
    {"balance", 'b', once, "HOW", "round-robin, least-requests or client-address",
     help_page::common, &set_balance},
    {"health", 0, once, "PATH", "ask for this path every 5 s; 200 to 399 is good",
     help_page::common, &set_health},
    {"host", 0, once, "WHICH", "Host for upstreams: keep (default) or upstream", help_page::common,
     &set_host},
    {"forwarded", 0, once, "WHICH", "both (default), x-forwarded, forwarded or off",
     help_page::site, &set_forwarded},
    {"via", 0, once, "NAME", "the name in Via, or off (default heddle)", help_page::site, &set_via},
    {"health-interval", 0, once, "TIME", "between two health checks (default 5s)", help_page::site,
     [](serve_options& o, sv v) { o.proxy->health.interval = span_of(v); }},
    {"health-timeout", 0, once, "TIME", "for one health check (default 2s)", help_page::site,
     [](serve_options& o, sv v) { o.proxy->health.timeout = span_of(v); }},
    {"health-rise", 0, once, "COUNT", "good ones in a row that bring it back (default 2)",
     help_page::site, [](serve_options& o, sv v) { o.proxy->health.rise = count_of(v, 1); }},
    {"health-fall", 0, once, "COUNT", "failures in a row that take it out (default 3)",
     help_page::site, [](serve_options& o, sv v) { o.proxy->health.fall = count_of(v, 1); }},
    {"fail", 0, once, "COUNT", "failed requests that take it out (default 3; 0: never)",
     help_page::site, [](serve_options& o, sv v) { o.proxy->failures.count = count_of(v, 0); }},
    {"fail-within", 0, once, "TIME", "in which they fail (default 10s)", help_page::site,
     [](serve_options& o, sv v) { o.proxy->failures.within = span_of(v); }},
    {"fail-pause", 0, once, "TIME", "for which it is out (default 10s)", help_page::site,
     [](serve_options& o, sv v) { o.proxy->failures.pause = span_of(v); }},
    {"tries", 0, once, "COUNT", "upstreams for one request that is safe to repeat (default 3)",
     help_page::site, [](serve_options& o, sv v) { o.proxy->tries_max = count_of(v, 1); }},
    {"no-upgrade", 0, on_off, "", "no WebSocket and no other upgrades", help_page::site,
     [](serve_options& o, sv v) { o.proxy->upgrades = !truth_of(v); }},
    {"half-closed", 0, on_off, "", "clients may end their side and wait for the answer",
     help_page::site,
     [](serve_options& o, sv v) { o.proxy->cancel_when_client_ends = !truth_of(v); }},
    {"send-proxy-protocol", 0, once, "VERSION", "1 or 2: tell upstreams the client by its header",
     help_page::site,
     [](serve_options& o, sv v) {
       o.proxy->proxy_protocol = static_cast<int>(number_within(v, "version", 1, 2));
     }},
    {"connect-timeout", 0, once, "TIME", "to reach an upstream (default 5s)", help_page::limits,
     &set_proxy_time<&http::proxy_timeouts::connect>},
    {"answer-timeout", 0, once, "TIME", "for the head of an answer (default 60s)",
     help_page::limits, &set_proxy_time<&http::proxy_timeouts::answer>},
    {"transfer-timeout", 0, once, "TIME", "in which a body must move (default 60s)",
     help_page::limits, &set_proxy_time<&http::proxy_timeouts::transfer>},
    {"queue-timeout", 0, once, "TIME", "for a free connection (default 5s)", help_page::limits,
     &set_proxy_time<&http::proxy_timeouts::queue>},
    {"tunnel-timeout", 0, once, "TIME", "of an upgraded connection (default 60m)",
     help_page::limits, &set_proxy_time<&http::proxy_timeouts::tunnel>},
    {"upstream-idle", 0, once, "TIME", "keep an unused connection (default 30s)", help_page::limits,
     &set_proxy_time<&http::proxy_timeouts::idle>},
    {"upstream-connections", 0, once, "COUNT", "to each, per worker; more wait (default 1024)",
     help_page::limits, [](serve_options& o, sv v) { o.proxy->connections_max = count_of(v, 1); }},
    {"upstream-kept", 0, once, "COUNT", "unused ones kept, per worker (default 128)",
     help_page::limits, [](serve_options& o, sv v) { o.proxy->idle_max = count_of(v, 0); }},
};

/// A setting of `heddle serve`, on a page of its own, perhaps with other words.
struct borrowed {
  sv name;
  help_page page;
  sv help = {};
};

constexpr borrowed shared[] = {
    {"tls", help_page::common},
    {"acme", help_page::common},
    {"acme-name", help_page::site, "order a certificate for this name"},
    {"acme-agree", help_page::site},
    {"acme-directory", help_page::site},
    {"acme-ca", help_page::site},
    {"acme-store", help_page::site},
    {"acme-account", help_page::site},
    {"hsts", help_page::site},
    {"redirect-http", help_page::common},
    {"auth", help_page::site},
    {"header", help_page::site},
    {"rate", help_page::common},
    {"body", help_page::common, "of a request body; more is 413 (default 64M)"},
    {"trusted-proxy", help_page::common},
    {"trusted-field", help_page::site},
    {"proxy-protocol", help_page::site},
    {"log", help_page::common},
    {"log-file", help_page::site},
    {"metrics", help_page::common},
    {"handover", help_page::common},
    {"workers", help_page::common},
    {"config", help_page::common},
    {"check", help_page::common},
    {"driver", help_page::limits},
    {"connections", help_page::limits},
    {"connections-per-address", help_page::limits},
    {"trusted", help_page::limits, "clients not limited by address: 10.0.0.0/8"},
    {"request-line", help_page::limits},
    {"header-bytes", help_page::limits},
    {"header-count", help_page::limits},
    {"pipeline", help_page::limits},
    {"send", help_page::limits},
    {"idle-timeout", help_page::limits},
    {"header-timeout", help_page::limits},
    {"body-timeout", help_page::limits},
    {"body-rate", help_page::limits},
    {"write-timeout", help_page::limits},
    {"drain-timeout", help_page::limits},
    {"queue-delay", help_page::limits},
    {"retry-after", help_page::limits},
    {"address-space", help_page::limits},
};

std::vector<setting> assembled() {
  std::vector<setting> all(std::begin(own), std::end(own));
  for (const borrowed& each : shared) {
    const std::span<const setting> from = settings();
    const auto found = std::ranges::find(from, each.name, &setting::name);
    setting taken = *found;
    taken.page = each.page;
    if (!each.help.empty()) taken.help = each.help;
    all.push_back(taken);
  }
  return all;
}

}  // namespace

std::span<const setting> upstream_settings() {
  static const std::vector<setting> all = assembled();
  return all;
}

serve_options proxy_defaults() {
  serve_options o;
  o.proxy = std::make_shared<http::proxy_options>();
  o.bounds.body_bytes_max = std::uint64_t{64} << 20;
  return o;
}

std::string proxy_help(help_page page) {
  std::string text =
      page == help_page::limits ? "heddle proxy: limits and times\n"
      : page == help_page::site
          ? "heddle proxy: upstreams, health, what they are told, logs\n\n"
          : "heddle proxy [ADDRESS]:PORT URL...: send requests on to these servers\n\n"
            "  heddle proxy :8080 http://127.0.0.1:3000\n"
            "  heddle proxy :443 --tls site.pem site.key unix:/run/app.socket\n\n";
  for (const setting& s : upstream_settings()) {
    if (s.page != page || s.help.empty()) continue;
    std::string flag = "  ";
    if (s.letter != 0) (flag += '-') += {s.letter, ',', ' '};
    (flag += "--") += s.name;
    if (!s.value_name.empty()) (flag += ' ') += s.value_name;
    flag.resize(std::max<std::size_t>(flag.size() + 1, page == help_page::common ? 27 : 34), ' ');
    ((text += flag) += s.help) += '\n';
  }
  if (page == help_page::common)
    text +=
        "Each is also NAME = VALUE in the file and HEDDLE_PROXY_NAME in the environment.\n"
        "--help-site: health, fields, failures, logs. --help-limits: times and limits.\n";
  return text;
}

}  // namespace heddle::serve
