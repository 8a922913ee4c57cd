// SPDX-License-Identifier: MIT
// The table of settings and the meaning of their values.
#include "serve/options.hh"

#include <algorithm>
#include <limits>
#include <thread>

#include "heddle/http/fixed_fields.hh"
#include "heddle/http/headers.hh"
#include "heddle/io/address.hh"
#include "serve/net.hh"
#include "serve/values.hh"

namespace heddle::serve {
namespace {

constexpr std::uint64_t no_limit = std::numeric_limits<std::size_t>::max();
// Larger values are mistakes: the server would hold a whole head of this size, and a send of this
// size would take too long.
constexpr std::uint64_t head_bytes_max = 1 << 20;
constexpr std::uint64_t pipeline_most = 1 << 20;
constexpr std::uint64_t body_rate_most = 1 << 30;
constexpr std::uint64_t send_bytes_most = 1 << 30;
constexpr std::uint64_t address_space_least = 16 << 20;  // with less it cannot serve

std::pair<std::string, std::string> field_of(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == line.npos || colon == 0)
    throw bad_setting("'" + std::string(line) + "' is no header; write \"Name: value\"");
  std::string_view value = line.substr(colon + 1);
  while (value.starts_with(' ')) value.remove_prefix(1);
  std::pair<std::string, std::string> field(line.substr(0, colon), value);
  try {
    static_cast<void>(http::checked_lines({field}));
  } catch (const failure& e) {
    throw bad_setting(e.what());
  }
  return field;
}

void add_header(serve_options& o, std::string_view line) { o.headers.push_back(field_of(line)); }

void add_path_field(serve_options& o, std::string_view text) {
  const std::size_t end = text.find(' ');
  if (end == text.npos)
    throw bad_setting("write \"PATH NAME: VALUE\": \"/assets/* Cache-Control: max-age=86400\"");
  auto [name, value] = field_of(text.substr(end + 1));
  o.path_fields.push_back({path_pattern(text.substr(0, end)), std::move(name), std::move(value)});
}

void add_site(serve_options& o, std::string_view text) {
  const std::vector<std::string_view> words = words_of(text);
  if (words.size() != 2) throw bad_setting("write \"NAME DIR\": \"www.example.org /srv/www\"");
  if (words[0].find_first_of("/:@") != std::string_view::npos)
    throw bad_setting("'" + std::string(words[0]) +
                      "' is no name of a site; write www.example.org or *.example.org");
  o.sites.emplace_back(words[0], words[1]);
}

void set_redirect_http(serve_options& o, std::string_view text) {
  const std::uint64_t value = number(text, "port; write a number from 0 to 65535");
  if (value > 65535) throw bad_setting("a port is at most 65535");
  o.redirect_http = static_cast<int>(value);
}

void set_bind(serve_options& o, std::string_view text) {
  // The address must not contain a port, because --port gives it.
  const std::string named = with_zone_number(text);
  const auto at = address::parse(named, 1);
  if (!at) throw bad_setting("'" + std::string(text) + "' is no address; write 192.0.2.7 or ::1");
  if (address::parse(named, 2)->port() == at->port())
    throw bad_setting("'" + std::string(text) + "' names a port; give it with -p PORT");
  o.bind = named;
}

void add_place(serve_options& o, std::string_view text) {
  if (text.starts_with("unix:")) {
    if (text.size() == 5) throw bad_setting("write the path of the socket: unix:/run/site.sock");
  } else {
    const std::string named = with_zone_number(text);
    const auto at = address::parse(named, 0);
    if (!at || at->port() == 0)
      throw bad_setting("'" + std::string(text) +
                        "' is no place to listen; write 192.0.2.7:80, [::1]:81 or unix:/run/x");
    return o.listen.push_back(named);
  }
  o.listen.emplace_back(text);
}

void set_driver(serve_options& o, std::string_view text) {
  if (text != "io_uring" && text != "epoll" && text != "poll")
    throw bad_setting("'" + std::string(text) + "' is no driver; write io_uring, epoll or poll");
  o.driver = text;
}

void set_write_timeout(serve_options& o, std::string_view text) {
  o.write_timeout = time_of(text);
  if (o.write_timeout == nanoseconds::zero())
    throw bad_setting("a send needs some time; for example, write 30s");
}

void set_address_space(serve_options& o, std::string_view text) {
  o.memory_bytes_max = size_within(text, address_space_least, no_limit);
}

void set_port(serve_options& o, std::string_view text) {
  const std::uint64_t value = number(text, "port; write a number from 0 to 65535");
  if (value > 65535) throw bad_setting("a port is at most 65535");
  o.port = static_cast<int>(value);
}

void set_log(serve_options& o, std::string_view text) {
  if (text == "plain") {
    o.log = http::log_form::plain;
  } else if (text == "json") {
    o.log = http::log_form::json;
  } else if (text == "common") {
    o.log = http::log_form::common;
  } else if (text == "combined") {
    o.log = http::log_form::combined;
  } else if (text == "off") {
    o.log = std::nullopt;
  } else {
    throw bad_setting("'" + std::string(text) +
                      "' is no form of log; write plain, json, common, combined or off");
  }
}

void set_auth(serve_options& o, std::string_view text) {
  if (text.find(':') == text.npos || text.starts_with(':'))
    throw bad_setting("write USER:PASSWORD");
  o.auth = text;
}

/// Two file names: apart by a line's end from the command line, else by a space.
void add_tls(serve_options& o, std::string_view text) {
  const std::size_t line = text.find('\n');
  const std::size_t at = line != text.npos ? line : text.rfind(' ');
  if (at == text.npos || at == 0 || at + 1 == text.size())
    throw bad_setting("write two files, the certificate and its key: site.pem site.key");
  o.tls.emplace_back(text.substr(0, at), text.substr(at + 1));
}

void set_connections(serve_options& o, std::string_view text) {
  o.connections_max = number(text, "number of connections");
  if (o.connections_max == 0) throw bad_setting("a server takes at least one connection");
}

void set_per_address(serve_options& o, std::string_view text) {
  const std::uint64_t n = number(text, "number of connections");
  o.connections_per_address_max = n == 0 ? no_limit : n;
}

void add_trusted(serve_options& o, std::string_view text) {
  const auto trusted = network::parse(text);
  if (!trusted)
    throw bad_setting("'" + std::string(text) + "' is no network; write 192.0.2.7 or 10.0.0.0/8");
  o.trusted.push_back(*trusted);
}

void add_trusted_proxy(serve_options& o, std::string_view text) {
  add_trusted(o, text);
  o.trusted_proxies.push_back(o.trusted.back());
  o.trusted.pop_back();
}

void set_trusted_field(serve_options& o, std::string_view text) {
  if (!http::equal_ignoring_case(text, "x-forwarded-for") &&
      !http::equal_ignoring_case(text, "forwarded"))
    throw bad_setting("'" + std::string(text) +
                      "' is no such field; write x-forwarded-for or "
                      "forwarded");
  o.trusted_field =
      text.size() == 9 ? http::forwarded_field::forwarded : http::forwarded_field::x_forwarded_for;
}

template <std::uint32_t http::limits::* Member>
void set_head_size(serve_options& o, std::string_view text) {
  o.bounds.*Member = static_cast<std::uint32_t>(size_within(text, 64, head_bytes_max));
}

void set_header_count(serve_options& o, std::string_view text) {
  o.bounds.header_count_max =
      static_cast<std::uint32_t>(number_within(text, "number of fields", 1, http::header_capacity));
}

void set_pipeline(serve_options& o, std::string_view text) {
  o.pipeline_max = number_within(text, "number of requests", 1, pipeline_most);
}

void set_body_rate(serve_options& o, std::string_view text) {
  o.body_bytes_per_second_min = static_cast<std::uint32_t>(size_within(text, 0, body_rate_most));
}

void set_send(serve_options& o, std::string_view text) {
  o.send_bytes_max = size_within(text, 4096, send_bytes_most);
}

void set_workers(serve_options& o, std::string_view text) {
  constexpr std::uint64_t workers_max = 64;
  const std::uint64_t cores = std::clamp<std::uint64_t>(std::thread::hardware_concurrency(), 1, 64);
  const std::uint64_t n =
      text == "auto" ? cores : number(text, "number of workers; write 1 to 64, or auto");
  if (n == 0 || n > workers_max) throw bad_setting("workers may be 1 to 64, or auto");
  o.workers = static_cast<unsigned>(n);
}

using enum setting_kind;
using sv = std::string_view;

constexpr setting table[] = {
    {"directory", 0, once, "DIR", "", help_page::common,
     [](serve_options& o, sv v) { o.directory = v; }},
    {"port", 'p', once, "PORT", "0: any free port (default 8000, or the next free)",
     help_page::common, &set_port},
    {"public", 0, on_off, "", "on every interface, for others on this network", help_page::common,
     [](serve_options& o, sv v) { o.everywhere = truth_of(v); }},
    {"bind", 0, once, "ADDRESS", "on this address only", help_page::common, &set_bind},
    {"listen", 0, repeated, "PLACE", "also at 192.0.2.7:80, [::1]:81, unix:/run/site.sock",
     help_page::site, &add_place},
    {"net", 0, once, "NETWORK", "kernel, or TCP in the program: user:tun0,10.9.0.2/24",
     help_page::site, &set_net},
    {"qr", 0, on_off, "", "show the address as a QR code, for a phone", help_page::common,
     [](serve_options& o, sv v) { o.qr = truth_of(v); }},
    {"auth", 0, once, "USER:PASSWORD", "require these; heddle password hides it", help_page::common,
     &set_auth},
    {"tls", 0, pairs, "CERT KEY", "https with these files (heddle cert makes some)",
     help_page::common, &add_tls},
    {"acme", 0, once, "EMAIL", "https with certificates that are ordered and renewed",
     help_page::common, &set_acme},
    {"acme-name", 0, repeated, "NAME", "order one for this name; those of site are included",
     help_page::site, &add_acme_name},
    {"acme-agree", 0, on_off, "", "you agree to the authority's terms of service", help_page::site,
     &set_acme_agree},
    {"acme-directory", 0, once, "URL", "another authority than Let's Encrypt", help_page::site,
     &set_acme_directory},
    {"acme-ca", 0, once, "FILE", "roots of a private authority, as PEM", help_page::site,
     &set_acme_roots},
    {"acme-store", 0, once, "DIR", "keep keys and certificates there", help_page::site,
     &set_acme_store},
    {"acme-account", 0, once, "\"ID KEY\"", "an account that the authority knows already",
     help_page::site, &set_acme_account},
    {"tls-own-records", 0, on_off, "",
     "TLS 1.3 without OpenSSL's state: idle connections are small", help_page::site,
     [](serve_options& o, sv v) { o.tls_own_records = truth_of(v); }},
    {"hsts", 0, once, "TIME", "tell browsers to come by https only, for this long", help_page::site,
     [](serve_options& o, sv v) { o.hsts = time_of(v); }},
    {"redirect-http", 0, once, "PORT", "answer http on this port with the https address",
     help_page::site, &set_redirect_http},
    {"site", 0, repeated, "\"NAME DIR\"", "another folder for this host name", help_page::site,
     &add_site},
    {"redirect", 0, repeated, "\"FROM TO\"", "/old/* /new/* 308: paths that have moved",
     help_page::site,
     [](serve_options& o, sv v) { o.redirects.push_back(redirect_rule::parse(v)); }},
    {"clean-urls", 0, on_off, "", "/about is about.html", help_page::site,
     [](serve_options& o, sv v) { o.clean_urls = truth_of(v); }},
    {"upload", 0, repeated, "PATH", "take files there, by PUT and by the form PATH?upload",
     help_page::site, [](serve_options& o, sv v) { o.uploads.emplace_back(v); }},
    {"upload-replace", 0, on_off, "", "an upload may replace a file", help_page::site,
     [](serve_options& o, sv v) { o.upload_replace = truth_of(v); }},
    {"archives", 0, on_off, "", "folders as /folder/?archive=zip or tar", help_page::site,
     [](serve_options& o, sv v) { o.archives = truth_of(v); }},
    {"spa", 0, on_off, "", "answer unknown paths with /index.html", help_page::common,
     [](serve_options& o, sv v) { o.spa = truth_of(v); }},
    {"cors", 0, on_off, "", "let pages of other origins read everything", help_page::common,
     [](serve_options& o, sv v) { o.cors = truth_of(v); }},
    {"header", 0, repeated, "\"NAME: VALUE\"", "add a line to every answer", help_page::site,
     &add_header},
    {"header-for", 0, repeated, "\"PATH NAME: VALUE\"", "the same for /folder/* or *.css",
     help_page::site, &add_path_field},
    {"compress", 0, on_off, "", "compress text on the fly: br, zstd or gzip", help_page::common,
     [](serve_options& o, sv v) { o.compress = truth_of(v); }},
    {"no-precompressed", 0, on_off, "", "never answer with FILE.br, FILE.zst or FILE.gz",
     help_page::site, [](serve_options& o, sv v) { o.precompressed = !truth_of(v); }},
    {"no-listing", 0, on_off, "", "no pages for directories without an index", help_page::site,
     [](serve_options& o, sv v) { o.listing = !truth_of(v); }},
    {"hidden", 0, on_off, "", "serve names that begin with a dot too", help_page::site,
     [](serve_options& o, sv v) { o.hidden = truth_of(v); }},
    {"log", 0, once, "FORM", "plain, json, common, combined, off (default plain)",
     help_page::common, &set_log},
    {"log-file", 0, once, "FILE", "write the log there; SIGUSR1 opens it again", help_page::site,
     [](serve_options& o, sv v) { o.log_file = v; }},
    {"rate", 0, repeated, "\"COUNT/s PATH\"", "requests of one address; more get 429",
     help_page::site, [](serve_options& o, sv v) { o.rates.push_back(rate_rule::parse(v)); }},
    {"metrics", 0, on_off, "", "/metrics for Prometheus, to this machine only", help_page::common,
     [](serve_options& o, sv v) { o.metrics = truth_of(v); }},
    {"handover", 0, once, "SOCKET", "take over from the server at this path; let the next do so",
     help_page::common, [](serve_options& o, sv v) { o.handover = v; }},
    {"workers", 'w', once, "COUNT", "cores to use, auto for all (default 1)", help_page::common,
     &set_workers},
    {"config", 'c', once, "FILE", "read NAME = VALUE lines; SIGHUP reads them again",
     help_page::common, [](serve_options& o, sv v) { o.config = v; }},
    {"check", 0, on_off, "", "say whether the settings are good, and serve nothing",
     help_page::site, [](serve_options& o, sv v) { o.check = truth_of(v); }},

    {"driver", 0, once, "NAME", "io_uring, epoll or poll (default: the best that works)",
     help_page::limits, &set_driver},
    {"connections", 0, once, "COUNT", "open at once; more wait (default 16384)", help_page::limits,
     &set_connections},
    {"connections-per-address", 0, once, "COUNT",
     "per visitor; 0: no limit (default three quarters of all)", help_page::limits,
     &set_per_address},
    {"trusted", 0, repeated, "NETWORK", "not limited by address: your proxy, 10.0.0.0/8",
     help_page::limits, &add_trusted},
    {"trusted-proxy", 0, repeated, "NETWORK", "believe this proxy about the client's address",
     help_page::limits, &add_trusted_proxy},
    {"trusted-field", 0, once, "FIELD", "x-forwarded-for or forwarded (default the first)",
     help_page::limits, &set_trusted_field},
    {"proxy-protocol", 0, on_off, "", "trusted proxies send its header, version 1 or 2",
     help_page::limits, [](serve_options& o, sv v) { o.proxy_protocol = truth_of(v); }},
    {"request-line", 0, once, "SIZE", "method and address; longer is 414 (default 8K)",
     help_page::limits, &set_head_size<&http::limits::request_line_bytes_max>},
    {"header-bytes", 0, once, "SIZE", "all fields of a request; more is 431 (default 16K)",
     help_page::limits, &set_head_size<&http::limits::header_bytes_max>},
    {"header-count", 0, once, "COUNT", "fields of a request; more is 431 (default 100)",
     help_page::limits, &set_header_count},
    {"body", 0, once, "SIZE", "of a request body, which is dropped (default 256K)",
     help_page::limits, [](serve_options& o, sv v) { o.bounds.body_bytes_max = size_of(v); }},
    {"upload-bytes", 0, once, "SIZE", "of one upload; more is 413 (default 64M)", help_page::limits,
     [](serve_options& o, sv v) { o.upload_bytes_max = size_of(v); }},
    {"archive-files", 0, once, "COUNT", "in one archive; more break it off (default 100000)",
     help_page::limits,
     [](serve_options& o, sv v) { o.archive_files_max = number(v, "number of files"); }},
    {"pipeline", 0, once, "COUNT", "answers in a row per connection (default 64)",
     help_page::limits, &set_pipeline},
    {"send", 0, once, "SIZE", "of one send; write-timeout limits it (default 256K)",
     help_page::limits, &set_send},
    {"file-parts", 0, once, "SIZE", "memory for large files being sent (default 16M)",
     help_page::limits, [](serve_options& o, sv v) { o.file_bytes_max = size_of(v); }},
    {"idle-timeout", 0, once, "TIME", "between two requests (default 75s)", help_page::limits,
     [](serve_options& o, sv v) { o.idle_timeout = time_of(v); }},
    {"header-timeout", 0, once, "TIME", "for a head that has begun (default 10s)",
     help_page::limits, [](serve_options& o, sv v) { o.header_timeout = time_of(v); }},
    {"body-timeout", 0, once, "TIME", "between two parts of a body (default 30s)",
     help_page::limits, [](serve_options& o, sv v) { o.body_timeout = time_of(v); }},
    {"body-rate", 0, once, "SIZE", "per second; slower bodies fail (default 240)",
     help_page::limits, &set_body_rate},
    {"write-timeout", 0, once, "TIME", "for the client to accept one send (default 30s)",
     help_page::limits, &set_write_timeout},
    {"drain-timeout", 0, once, "TIME", "after Ctrl-C; then close all (default 0: no limit)",
     help_page::limits, [](serve_options& o, sv v) { o.drain_timeout = time_of(v); }},
    {"queue-delay", 0, once, "TIME",
     "overload: refuse requests after this (default 100ms; 0: never)", help_page::limits,
     [](serve_options& o, sv v) { o.queue_delay = time_of(v); }},
    {"retry-after", 0, once, "TIME", "Retry-After of refusals, in seconds (default 1s)",
     help_page::limits, [](serve_options& o, sv v) { o.retry_after = time_of(v); }},
    {"cache", 0, once, "SIZE", "memory for files (default 64M)", help_page::limits,
     [](serve_options& o, sv v) { o.cache_bytes_max = size_of(v); }},
    {"cached-file", 0, once, "SIZE", "larger files are not cached (default 1M)", help_page::limits,
     [](serve_options& o, sv v) { o.cached_file_bytes_max = size_of(v); }},
    {"held", 0, once, "SIZE", "files cached or being sent (default twice cache and 16M)",
     help_page::limits, [](serve_options& o, sv v) { o.held_bytes_max = size_of(v); }},
    {"recheck", 0, once, "TIME", "check a cached file again after this (default 1s)",
     help_page::limits, [](serve_options& o, sv v) { o.trust = time_of(v); }},
    {"address-space", 0, once, "SIZE", "reserved for tasks, not used (default 64G)",
     help_page::limits, &set_address_space},
};

}  // namespace

std::vector<std::pair<std::string, std::string>> serve_options::fields_of_answers() const {
  auto fields = headers;
  if (hsts > nanoseconds::zero() && secure()) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(hsts).count();
    fields.emplace_back("Strict-Transport-Security", "max-age=" + std::to_string(seconds));
  }
  if (cors) fields.emplace_back("Access-Control-Allow-Origin", "*");
  return fields;
}

std::span<const setting> settings() { return table; }

std::string serve_help(help_page page) {
  std::string text = page == help_page::limits ? "heddle serve: limits and times\n"
                     : page == help_page::site
                         ? "heddle serve: what a public site may need\n\n"
                         : "heddle serve [DIR]: serve a directory (default: this one)\n\n";
  for (const setting& s : table) {
    if (s.page != page || s.help.empty()) continue;
    std::string flag = "  ";
    if (s.letter != 0) (flag += '-') += {s.letter, ',', ' '};
    (flag += "--") += s.name;
    if (!s.value_name.empty()) (flag += ' ') += s.value_name;
    flag.resize(std::max<std::size_t>(flag.size() + 1, page == help_page::common ? 26 : 34), ' ');
    ((text += flag) += s.help) += '\n';
  }
  if (page == help_page::common) {
    text +=
        "\nEach is also NAME = VALUE in the file and HEDDLE_SERVE_NAME in the environment.\n"
        "--help-site: redirects, names, headers, logs. --help-limits: times, cache, limits.\n"
        "Ctrl-C finishes what is open, twice stops.\n";
  }
  return text;
}

}  // namespace heddle::serve
