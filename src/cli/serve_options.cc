// SPDX-License-Identifier: MIT
// The table of settings, and what their values mean.
#include "cli/serve_options.hh"

#include <algorithm>
#include <charconv>
#include <limits>
#include <thread>

namespace heddle::cli {
namespace {

bool truth_of(std::string_view text) {
  if (text.empty() || text == "on" || text == "true" || text == "yes" || text == "1") return true;
  if (text == "off" || text == "false" || text == "no" || text == "0") return false;
  throw bad_setting("'" + std::string(text) + "' is neither on nor off");
}

std::uint64_t number(std::string_view text, std::string_view unit) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw bad_setting("'" + std::string(text) + "' is no " + std::string(unit));
  return value;
}

/// 512, 16K, 64M, 2G.
std::uint64_t size_of(std::string_view text) {
  constexpr std::string_view example = "size; write 512, 16K, 64M or 2G";
  unsigned shift = 0;
  if (!text.empty()) {
    constexpr std::string_view letters = "KMG";
    const std::size_t at = letters.find(static_cast<char>(text.back() & ~0x20));
    if (at != letters.npos) {
      shift = static_cast<unsigned>(at + 1) * 10;
      text.remove_suffix(1);
    }
  }
  const std::uint64_t value = number(text, example);
  if (value > (std::numeric_limits<std::uint64_t>::max() >> 1 >> shift))
    throw bad_setting("'" + std::string(text) + "' is too large a size");
  return value << shift;
}

/// 500ms, 10s, 5m; a bare number counts seconds.
nanoseconds time_of(std::string_view text) {
  constexpr std::string_view example = "time; write 500ms, 10s or 5m";
  nanoseconds unit = std::chrono::seconds(1);
  if (text.ends_with("ms")) {
    unit = std::chrono::milliseconds(1);
    text.remove_suffix(2);
  } else if (text.ends_with('s')) {
    text.remove_suffix(1);
  } else if (text.ends_with('m')) {
    unit = std::chrono::minutes(1);
    text.remove_suffix(1);
  }
  const std::uint64_t value = number(text, example);
  if (value > 1'000'000) throw bad_setting("'" + std::string(text) + "' is too long a time");
  return static_cast<std::int64_t>(value) * unit;
}

void add_header(serve_options& o, std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == line.npos || colon == 0)
    throw bad_setting("'" + std::string(line) + "' is no header; write \"Name: value\"");
  std::string_view value = line.substr(colon + 1);
  while (value.starts_with(' ')) value.remove_prefix(1);
  o.headers.emplace_back(line.substr(0, colon), value);
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
    {"bind", 0, once, "ADDRESS", "on this address only", false,
     [](serve_options& o, sv v) { o.bind = v; }},
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
     [](serve_options& o, sv v) { o.driver = v; }},
    {"connections", 0, once, "COUNT", "open at once; more wait (default 16384)", true,
     &set_connections},
    {"idle-timeout", 0, once, "TIME", "between two requests (default 75s)", true,
     [](serve_options& o, sv v) { o.idle_timeout = time_of(v); }},
    {"header-timeout", 0, once, "TIME", "for a head that has begun (default 10s)", true,
     [](serve_options& o, sv v) { o.header_timeout = time_of(v); }},
    {"write-timeout", 0, once, "TIME", "for one send to be taken (default 30s)", true,
     [](serve_options& o, sv v) { o.write_timeout = time_of(v); }},
    {"drain-timeout", 0, once, "TIME", "after Ctrl-C, then all is closed (default 0: no limit)",
     true, [](serve_options& o, sv v) { o.drain_timeout = time_of(v); }},
    {"queue-delay", 0, once, "TIME",
     "under overload, refuse what waited longer (default 100ms; 0: never)", true,
     [](serve_options& o, sv v) { o.queue_delay = time_of(v); }},
    {"retry-after", 0, once, "TIME", "what refused clients are told, in seconds (default 1s)", true,
     [](serve_options& o, sv v) { o.retry_after = time_of(v); }},
    {"cache", 0, once, "SIZE", "memory for files (default 64M)", true,
     [](serve_options& o, sv v) { o.cache_bytes_max = size_of(v); }},
    {"cached-file", 0, once, "SIZE", "larger files are read when asked for (default 1M)", true,
     [](serve_options& o, sv v) { o.cached_file_bytes_max = size_of(v); }},
    {"recheck", 0, once, "TIME", "a cached file is looked at again after it (default 1s)", true,
     [](serve_options& o, sv v) { o.trust = time_of(v); }},
    {"address-space", 0, once, "SIZE", "reserved for tasks, not used (default 64G)", true,
     [](serve_options& o, sv v) { o.memory_bytes_max = size_of(v); }},
};

}  // namespace

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
    flag.resize(std::max<std::size_t>(flag.size() + 1, 26), ' ');
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
