// SPDX-License-Identifier: MIT
// The table of settings, and what their values mean.
#include "cli/serve_options.hh"

#include <algorithm>
#include <limits>
#include <thread>

#include "cli/serve_values.hh"
#include "heddle/io/address.hh"
#include "http/fixed_fields.hh"

namespace heddle::cli {
namespace {

constexpr std::uint64_t no_limit = std::numeric_limits<std::size_t>::max();
// Beyond these a value is a slip: a head this long would be held whole, a send this long never
// ends.
constexpr std::uint64_t head_bytes_max = 1 << 20;
constexpr std::uint64_t pipeline_most = 1 << 20;
constexpr std::uint64_t body_rate_most = 1 << 30;
constexpr std::uint64_t send_bytes_most = 1 << 30;
constexpr std::uint64_t address_space_least = 16 << 20;  // a server has begun with less, not served

void add_header(serve_options& o, std::string_view line) {
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
  o.headers.push_back(std::move(field));
}

void set_bind(serve_options& o, std::string_view text) {
  // With a port of its own it would not take the one that is given.
  const auto at = address::parse(std::string(text), 1);
  if (!at) throw bad_setting("'" + std::string(text) + "' is no address; write 192.0.2.7 or ::1");
  if (address::parse(std::string(text), 2)->port() == at->port())
    throw bad_setting("'" + std::string(text) + "' names a port; give it with -p PORT");
  o.bind = text;
}

void set_driver(serve_options& o, std::string_view text) {
  if (text != "io_uring" && text != "epoll" && text != "poll")
    throw bad_setting("'" + std::string(text) + "' is no driver; write io_uring, epoll or poll");
  o.driver = text;
}

void set_write_timeout(serve_options& o, std::string_view text) {
  o.write_timeout = time_of(text);
  if (o.write_timeout == nanoseconds::zero())
    throw bad_setting("a send needs some time to be taken; write 30s, say");
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
  } else if (text == "off") {
    o.log = std::nullopt;
  } else {
    throw bad_setting("'" + std::string(text) + "' is no form of log; write plain, json or off");
  }
}

void set_auth(serve_options& o, std::string_view text) {
  if (text.find(':') == text.npos || text.starts_with(':'))
    throw bad_setting("write USER:PASSWORD");
  o.auth = text;
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
    {"directory", 0, once, "DIR", "", false, [](serve_options& o, sv v) { o.directory = v; }},
    {"port", 'p', once, "PORT", "0 takes any that is free (default 8000 or the next)", false,
     &set_port},
    {"public", 0, on_off, "", "on every interface, for others on this network", false,
     [](serve_options& o, sv v) { o.everywhere = truth_of(v); }},
    {"bind", 0, once, "ADDRESS", "on this address only", false, &set_bind},
    {"qr", 0, on_off, "", "show the address as a QR code, for a phone", false,
     [](serve_options& o, sv v) { o.qr = truth_of(v); }},
    {"auth", 0, once, "USER:PASSWORD", "ask every visitor for these", false, &set_auth},
    {"spa", 0, on_off, "", "answer unknown paths with /index.html", false,
     [](serve_options& o, sv v) { o.spa = truth_of(v); }},
    {"cors", 0, on_off, "", "let pages of other origins read everything", false,
     [](serve_options& o, sv v) { o.cors = truth_of(v); }},
    {"header", 0, repeated, "\"NAME: VALUE\"", "add a line to every answer", false, &add_header},
    {"compress", 0, on_off, "", "compress text on the fly where no FILE.gz lies beside it", false,
     [](serve_options& o, sv v) { o.compress = truth_of(v); }},
    {"no-precompressed", 0, on_off, "", "never answer with FILE.br, FILE.zst or FILE.gz", false,
     [](serve_options& o, sv v) { o.precompressed = !truth_of(v); }},
    {"no-listing", 0, on_off, "", "no pages for directories without an index", false,
     [](serve_options& o, sv v) { o.listing = !truth_of(v); }},
    {"hidden", 0, on_off, "", "serve names that begin with a dot too", false,
     [](serve_options& o, sv v) { o.hidden = truth_of(v); }},
    {"log", 0, once, "FORM", "plain, json or off (default plain, on stdout)", false, &set_log},
    {"metrics", 0, on_off, "", "/metrics for Prometheus, to this machine only", false,
     [](serve_options& o, sv v) { o.metrics = truth_of(v); }},
    {"handover", 0, once, "SOCKET", "take over from the server at this path, and give to the next",
     false, [](serve_options& o, sv v) { o.handover = v; }},
    {"workers", 'w', once, "COUNT", "cores to use, auto for all (default 1)", false, &set_workers},
    {"config", 'c', once, "FILE", "read NAME = VALUE lines; SIGHUP reads them again", false,
     [](serve_options& o, sv v) { o.config = v; }},

    {"driver", 0, once, "NAME", "io_uring, epoll or poll (default: the best that works)", true,
     &set_driver},
    {"connections", 0, once, "COUNT", "open at once; more wait (default 16384)", true,
     &set_connections},
    {"connections-per-address", 0, once, "COUNT",
     "of one visitor; 0: no limit (default three quarters of all)", true, &set_per_address},
    {"trusted", 0, repeated, "NETWORK", "not limited by address: your proxy, 10.0.0.0/8", true,
     &add_trusted},
    {"request-line", 0, once, "SIZE", "method and address; longer is 414 (default 8K)", true,
     &set_head_size<&http::limits::request_line_bytes_max>},
    {"header-bytes", 0, once, "SIZE", "all fields of a request; more is 431 (default 16K)", true,
     &set_head_size<&http::limits::header_bytes_max>},
    {"header-count", 0, once, "COUNT", "fields of a request; more is 431 (default 100)", true,
     &set_header_count},
    {"body", 0, once, "SIZE", "of a body, read and dropped; more ends it (default 256K)", true,
     [](serve_options& o, sv v) { o.bounds.body_bytes_max = size_of(v); }},
    {"pipeline", 0, once, "COUNT", "answers in a row, then others go first (default 64)", true,
     &set_pipeline},
    {"send", 0, once, "SIZE", "of one send, that write-timeout is for (default 256K)", true,
     &set_send},
    {"file-parts", 0, once, "SIZE", "memory for large files on their way (default 16M)", true,
     [](serve_options& o, sv v) { o.file_bytes_max = size_of(v); }},
    {"ready", 0, once, "SIZE", "whole answers that are sent often, a worker (default 2M)", true,
     [](serve_options& o, sv v) { o.ready_bytes_max = size_of(v); }},
    {"idle-timeout", 0, once, "TIME", "between two requests (default 75s)", true,
     [](serve_options& o, sv v) { o.idle_timeout = time_of(v); }},
    {"header-timeout", 0, once, "TIME", "for a head that has begun (default 10s)", true,
     [](serve_options& o, sv v) { o.header_timeout = time_of(v); }},
    {"body-timeout", 0, once, "TIME", "between two parts of a body (default 30s)", true,
     [](serve_options& o, sv v) { o.body_timeout = time_of(v); }},
    {"body-rate", 0, once, "SIZE", "a second; slower bodies are given up (default 240)", true,
     &set_body_rate},
    {"write-timeout", 0, once, "TIME", "for one send to be taken (default 30s)", true,
     &set_write_timeout},
    {"drain-timeout", 0, once, "TIME", "after Ctrl-C, then all is closed (default 0: no limit)",
     true, [](serve_options& o, sv v) { o.drain_timeout = time_of(v); }},
    {"queue-delay", 0, once, "TIME",
     "overloaded: refuse what waited longer (default 100ms; 0: never)", true,
     [](serve_options& o, sv v) { o.queue_delay = time_of(v); }},
    {"retry-after", 0, once, "TIME", "what refused clients are told, in seconds (default 1s)", true,
     [](serve_options& o, sv v) { o.retry_after = time_of(v); }},
    {"cache", 0, once, "SIZE", "memory for files (default 64M)", true,
     [](serve_options& o, sv v) { o.cache_bytes_max = size_of(v); }},
    {"cached-file", 0, once, "SIZE", "larger files are read when asked for (default 1M)", true,
     [](serve_options& o, sv v) { o.cached_file_bytes_max = size_of(v); }},
    {"held", 0, once, "SIZE", "files cached or on their way (default twice cache and 16M)", true,
     [](serve_options& o, sv v) { o.held_bytes_max = size_of(v); }},
    {"recheck", 0, once, "TIME", "a cached file is looked at again after it (default 1s)", true,
     [](serve_options& o, sv v) { o.trust = time_of(v); }},
    {"address-space", 0, once, "SIZE", "reserved for tasks, not used (default 64G)", true,
     &set_address_space},
};

}  // namespace

std::vector<std::pair<std::string, std::string>> serve_options::fields_of_answers() const {
  auto fields = headers;
  if (cors) fields.emplace_back("Access-Control-Allow-Origin", "*");
  return fields;
}

std::span<const setting> settings() { return table; }

std::string serve_help(bool limits) {
  std::string text = limits ? "heddle serve: limits and times\n"
                            : "heddle serve [DIR]: serve a directory (default: this one)\n\n";
  for (const setting& s : table) {
    if (s.limit != limits || s.help.empty()) continue;
    std::string flag = "  ";
    if (s.letter != 0) (flag += '-') += {s.letter, ',', ' '};
    (flag += "--") += s.name;
    if (!s.value_name.empty()) (flag += ' ') += s.value_name;
    flag.resize(std::max<std::size_t>(flag.size() + 1, limits ? 34 : 26), ' ');
    ((text += flag) += s.help) += '\n';
  }
  if (!limits) {
    text +=
        "\nEach is also NAME = VALUE in the file and HEDDLE_SERVE_NAME in the environment.\n"
        "Ctrl-C finishes what is open, twice stops. --help-limits: timeouts, cache, limits.\n";
  }
  return text;
}

}  // namespace heddle::cli
