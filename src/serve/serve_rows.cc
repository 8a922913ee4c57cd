// SPDX-License-Identifier: MIT
// The settings of `heddle serve` whose values need more than a member of the options.
#include "serve/serve_rows.hh"

#include <algorithm>
#include <thread>

#include "heddle/client/page_fetch.hh"
#include "heddle/http/detail/fixed_fields.hh"
#include "heddle/http/headers.hh"
#include "heddle/io/address.hh"
#include "serve/checks.hh"
#include "serve/values.hh"

namespace heddle::serve {
namespace {

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

}  // namespace

namespace serve_rows {

void add_header(serve_options& o, std::string_view line) {
  o.files.headers.push_back(field_of(line));
}

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

void add_rate(serve_options& o, std::string_view text) {
  o.rates.push_back(rate_rule::parse(text));
}
void add_origin(serve_options& o, std::string_view text) {
  try {
    static_cast<void>(http::fetch_source({.origins = {std::string(text)}}));
  } catch (const failure&) {
    throw bad_setting("'" + std::string(text) +
                      "' is no origin; write http://127.0.0.1:7001 or https://api.example.com");
  }
  o.origins.emplace_back(text);
}

void add_redirect(serve_options& o, std::string_view text) {
  o.redirects.push_back(redirect_rule::parse(text));
}
void add_upload(serve_options& o, std::string_view text) { o.uploads.emplace_back(text); }

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

void set_write_timeout(serve_options& o, std::string_view text) {
  o.server.write_timeout = time_of(text);
  if (o.server.write_timeout == nanoseconds::zero())
    throw bad_setting("a send needs some time; for example, write 30s");
}

void set_auth(serve_options& o, std::string_view text) {
  if (text.find(':') == text.npos || text.starts_with(':'))
    throw bad_setting("write USER:PASSWORD");
  o.auth = text;
}

/// Adds two file names. The command line separates them by a line end, other sources by a space.
void add_tls(serve_options& o, std::string_view text) {
  const std::size_t line = text.find('\n');
  const std::size_t at = line != text.npos ? line : text.rfind(' ');
  if (at == text.npos || at == 0 || at + 1 == text.size())
    throw bad_setting("write two files, the certificate and its key: site.pem site.key");
  o.tls.emplace_back(text.substr(0, at), text.substr(at + 1));
}

void set_connections(serve_options& o, std::string_view text) {
  o.server.connections_max = number(text, "number of connections");
  if (o.server.connections_max == 0) throw bad_setting("a server takes at least one connection");
}

void set_per_address(serve_options& o, std::string_view text) {
  const std::uint64_t n = number(text, "number of connections");
  o.server.connections_per_address_max = n == 0 ? no_limit : n;
}

void add_trusted(serve_options& o, std::string_view text) {
  const auto trusted = network::parse(text);
  if (!trusted)
    throw bad_setting("'" + std::string(text) + "' is no network; write 192.0.2.7 or 10.0.0.0/8");
  o.server.trusted.push_back(*trusted);
}

void add_trusted_proxy(serve_options& o, std::string_view text) {
  add_trusted(o, text);
  o.server.trusted_proxies.push_back(o.server.trusted.back());
  o.server.trusted.pop_back();
}

void set_trusted_field(serve_options& o, std::string_view text) {
  if (!http::equal_ignoring_case(text, "x-forwarded-for") &&
      !http::equal_ignoring_case(text, "forwarded"))
    throw bad_setting("'" + std::string(text) +
                      "' is no such field; write x-forwarded-for or "
                      "forwarded");
  o.server.forwarded_by =
      text.size() == 9 ? http::forwarded_field::forwarded : http::forwarded_field::x_forwarded_for;
}

void set_workers(serve_options& o, std::string_view text) {
  constexpr std::uint64_t workers_max = 64;
  const std::uint64_t cores = std::clamp<std::uint64_t>(std::thread::hardware_concurrency(), 1, 64);
  const std::uint64_t n =
      text == "auto" ? cores : number(text, "number of workers; write 1 to 64, or auto");
  if (n == 0 || n > workers_max) throw bad_setting("workers may be 1 to 64, or auto");
  o.runtime.workers = static_cast<unsigned>(n);
}

std::string show_port(const serve_options&) { return std::to_string(default_port); }

}  // namespace serve_rows

const setting_table& serve_settings() {
  static constexpr setting_table table{
      .verb = "serve",
      .variable_prefix = "HEDDLE_SERVE_",
      .all = serve_rows::all,
      .config = &serve_rows::all[place_of(serve_rows::all, "config")],
      .defaults = [] { return serve_options(); },
      .check = &check_serve,
      .heads = {"heddle serve [DIR]: serve a directory (default: this one)\n\n",
                "heddle serve: what a public site may need\n\n",
                "heddle serve: limits and times\n"},
      .foot =
          "\nEach is also NAME = VALUE in the file and HEDDLE_SERVE_NAME in the environment.\n"
          "--help-site: redirects, names, headers, logs. --help-limits: times, cache, limits.\n"
          "Ctrl-C finishes what is open, twice stops.\n",
      .column = 26};
  return table;
}

}  // namespace heddle::serve
