// SPDX-License-Identifier: MIT
// The rows of the settings of `heddle serve`, in the order of the help texts. `heddle proxy` takes
// some of them over (proxy.cc).
#pragma once

#include "heddle/http/limits.hh"
#include "serve/member_values.hh"
#include "serve/net.hh"

namespace heddle::serve {
namespace serve_rows {

// Values that need more than a member. Each throws bad_setting.
void add_header(serve_options& o, std::string_view text);
void add_origin(serve_options& o, std::string_view text);
void add_path_field(serve_options& o, std::string_view text);
void add_place(serve_options& o, std::string_view text);
void add_rate(serve_options& o, std::string_view text);
void add_redirect(serve_options& o, std::string_view text);
void add_site(serve_options& o, std::string_view text);
void add_tls(serve_options& o, std::string_view text);
void add_trusted(serve_options& o, std::string_view text);
void add_trusted_proxy(serve_options& o, std::string_view text);
void add_upload(serve_options& o, std::string_view text);
void set_auth(serve_options& o, std::string_view text);
void set_bind(serve_options& o, std::string_view text);
void set_connections(serve_options& o, std::string_view text);
void set_per_address(serve_options& o, std::string_view text);
void set_trusted_field(serve_options& o, std::string_view text);
void set_workers(serve_options& o, std::string_view text);
void set_write_timeout(serve_options& o, std::string_view text);
[[nodiscard]] std::string show_port(const serve_options& o);

using enum help_page;
using opts = serve_options;
using server = http::server_options;
using folder = http::static_options;
using sizes = http::limits;
using overload = http::overload_options;
inline constexpr auto web = &opts::server;
inline constexpr auto files = &opts::files;
inline constexpr auto machine = &opts::runtime;
inline constexpr auto acme = &opts::acme;

inline constexpr std::uint64_t no_limit = std::numeric_limits<std::size_t>::max();
// Larger values are mistakes: the server would hold a whole head of this size, and a send of this
// size would take too long.
inline constexpr std::uint64_t head_bytes_max = 1 << 20;
inline constexpr std::uint64_t pipeline_most = 1 << 20;
inline constexpr std::uint64_t page_connections_most = 1 << 16;
inline constexpr std::uint64_t body_rate_most = 1 << 30;
inline constexpr std::uint64_t send_bytes_most = 1 << 30;
inline constexpr std::uint64_t address_space_least = 16 << 20;  // with less it cannot serve

inline constexpr word_list<const char*, 3> drivers{
    "driver", {{"io_uring", "io_uring"}, {"epoll", "epoll"}, {"poll", "poll"}}};
inline constexpr word_list<std::optional<http::log_form>, 5> log_forms{
    "form of log",
    {{"plain", http::log_form::plain},
     {"json", http::log_form::json},
     {"common", http::log_form::common},
     {"combined", http::log_form::combined},
     {"off", std::nullopt}}};

inline constexpr setting all[] = {
    {"directory", "", common, named("DIR", text_at<&opts::directory>)},
    {"port", "0: any free port (default {}, or the next free)", common,
     one("PORT", port_at<&opts::port>.set, &show_port), 'p'},
    {"public", "on every interface, for others on this network", common,
     switch_at<&opts::everywhere>},
    {"bind", "on this address only", common, one("ADDRESS", &set_bind)},
    {"listen", "also at 192.0.2.7:80, [::1]:81, unix:/run/site.sock", site,
     each("PLACE", &add_place)},
    {"net", "kernel, or TCP in the program: user:tun0,10.9.0.2/24", site, one("NETWORK", &set_net)},
    {"qr", "show the address as a QR code, for a phone", common, switch_at<&opts::qr>},
    {"auth", "require these; heddle password hides it", common, one("USER:PASSWORD", &set_auth)},
    {"tls", "https with these files (heddle cert makes some)", common, two("CERT KEY", &add_tls)},
    {"acme", "https with certificates that are ordered and renewed", common,
     one("EMAIL", &set_acme)},
    {"acme-name", "order one for this name; those of site are included", site,
     each("NAME", &add_acme_name)},
    {"acme-agree", "you agree to the authority's terms of service", site,
     switch_at<acme, &acme_settings::agree>},
    {"acme-directory", "another authority than Let's Encrypt", site,
     one("URL", &set_acme_directory)},
    {"acme-ca", "roots of a private authority, as PEM", site,
     named("FILE", text_at<acme, &acme_settings::roots>)},
    {"acme-store", "keep keys and certificates there", site,
     named("DIR", text_at<acme, &acme_settings::store>)},
    {"acme-account", "an account that the authority knows already", site,
     one("\"ID KEY\"", &set_acme_account)},
    {"tls-own-records", "TLS 1.3 without OpenSSL's state: idle connections are small", site,
     switch_at<&opts::tls_own_records>},
    {"hsts", "tell browsers to come by https only, for this long", site, time_at<&opts::hsts>},
    {"redirect-http", "answer http on this port with the https address", site,
     port_at<&opts::redirect_http>},
    {"site", "another folder for this host name", site, each("\"NAME DIR\"", &add_site)},
    {"redirect", "/old/* /new/* 308: paths that have moved", site,
     each("\"FROM TO\"", &add_redirect)},
    {"clean-urls", "/about is about.html", site, switch_at<files, &folder::clean_urls>},
    {"upload", "take files there, by PUT and by the form PATH?upload", site,
     each("PATH", &add_upload)},
    {"upload-replace", "an upload may replace a file", site, switch_at<&opts::upload_replace>},
    {"pages", "/about is the page about.page, whose sources run at once", site,
     switch_at<&opts::pages>},
    {"page-fetch", "an origin that pages may fetch from: http://127.0.0.1:7001", site,
     each("ORIGIN", &add_origin)},
    {"archives", "folders as /folder/?archive=zip or tar", site, switch_at<&opts::archives>},
    {"spa", "answer unknown paths with /index.html", common,
     switch_at<files, &folder::single_page>},
    {"cors", "let pages of other origins read everything", common, switch_at<&opts::cors>},
    {"header", "add a line to every answer", site, each("\"NAME: VALUE\"", &add_header)},
    {"header-for", "the same for /folder/* or *.css", site,
     each("\"PATH NAME: VALUE\"", &add_path_field)},
    {"compress", "compress text on the fly: br, zstd or gzip", common,
     switch_at<files, &folder::compress>},
    {"no-precompressed", "never answer with FILE.br, FILE.zst or FILE.gz", site,
     opposite_at<files, &folder::precompressed>},
    {"no-listing", "no pages for directories without an index", site,
     opposite_at<files, &folder::listing>},
    {"hidden", "serve names that begin with a dot too", site, switch_at<files, &folder::hidden>},
    {"log", "plain, json, common, combined, off (default {})", common,
     named("FORM", word_at<log_forms, &opts::log>)},
    {"log-file", "write the log there; SIGUSR1 opens it again", site,
     named("FILE", text_at<&opts::log_file>)},
    {"rate", "requests of one address; more get 429", site, each("\"COUNT/s PATH\"", &add_rate)},
    {"metrics", "/metrics for Prometheus, to this machine only", common, switch_at<&opts::metrics>},
    {"handover", "take over from the server at this path; let the next do so", common,
     named("SOCKET", text_at<&opts::handover>)},
    {"workers", "cores to use, auto for all (default {})", common,
     one("COUNT", &set_workers, count_at<machine, &runtime_options::workers>.show), 'w'},
    {"config", "read NAME = VALUE lines; SIGHUP reads them again", common,
     named("FILE", text_at<&opts::config>), 'c'},
    {"check", "say whether the settings are good, and serve nothing", site,
     switch_at<&opts::check>},

    {"driver", "io_uring, epoll or poll (default: the best that works)", limits,
     named("NAME", word_at<drivers, machine, &runtime_options::driver>)},
    {"connections", "open at once; more wait (default {})", limits,
     one("COUNT", &set_connections, count_at<web, &server::connections_max>.show)},
    {"connections-per-address", "per visitor; 0: no limit (default three quarters of all)", limits,
     one("COUNT", &set_per_address)},
    {"trusted", "not limited by address: your proxy, 10.0.0.0/8", limits,
     each("NETWORK", &add_trusted)},
    {"trusted-proxy", "believe this proxy about the client's address", limits,
     each("NETWORK", &add_trusted_proxy)},
    {"trusted-field", "x-forwarded-for or forwarded (default the first)", limits,
     one("FIELD", &set_trusted_field)},
    {"proxy-protocol", "trusted proxies send its header, version 1 or 2", limits,
     switch_at<&opts::proxy_protocol>},
    {"request-line", "method and address; longer is 414 (default {})", limits,
     size_in<64, head_bytes_max, web, &server::bounds, &sizes::request_line_bytes_max>},
    {"header-bytes", "all fields of a request; more is 431 (default {})", limits,
     size_in<64, head_bytes_max, web, &server::bounds, &sizes::header_bytes_max>},
    {"header-count", "fields of a request; more is 431 (default {})", limits,
     count_in<1, http::header_capacity, web, &server::bounds, &sizes::header_count_max>},
    {"body", "of a request body, which is dropped (default {})", limits,
     size_at<web, &server::bounds, &sizes::body_bytes_max>},
    {"upload-bytes", "of one upload; more is 413 (default {})", limits,
     size_at<&opts::upload_bytes_max>},
    {"page-connections", "to one origin of page-fetch; more wait (default {})", limits,
     count_in<1, page_connections_most, &opts::page_connections>},
    {"archive-files", "in one archive; more break it off (default {})", limits,
     count_at<&opts::archive_files_max>},
    {"pipeline", "answers in a row per connection (default {})", limits,
     count_in<1, pipeline_most, web, &server::pipeline_max>},
    {"send", "of one send; write-timeout limits it (default {})", limits,
     size_in<4096, send_bytes_most, web, &server::send_bytes_max>},
    {"file-parts", "memory for large files being sent (default {})", limits,
     size_at<web, &server::file_bytes_max>},
    {"idle-timeout", "between two requests (default {})", limits,
     time_at<web, &server::idle_timeout>},
    {"header-timeout", "for a head that has begun (default {})", limits,
     time_at<web, &server::header_timeout>},
    {"body-timeout", "between two parts of a body (default {})", limits,
     time_at<web, &server::body_timeout>},
    {"body-rate", "per second; slower bodies fail (default {}; 0: none do)", limits,
     size_in<0, body_rate_most, web, &server::body_bytes_per_second_min>},
    {"write-timeout", "for the client to accept one send (default {})", limits,
     one("TIME", &set_write_timeout, time_at<web, &server::write_timeout>.show)},
    {"drain-timeout", "after Ctrl-C; then close all (default {}: no limit)", limits,
     time_at<&opts::drain_timeout>},
    {"queue-delay", "overload: refuse requests after this (default {}; 0: never)", limits,
     time_at<web, &server::overload, &overload::target>},
    {"retry-after", "Retry-After of refusals, in seconds (default {})", limits,
     time_at<web, &server::overload, &overload::retry_after>},
    {"cache", "memory for files (default {})", limits, size_at<files, &folder::cache_bytes_max>},
    {"cached-file", "larger files are not cached (default {})", limits,
     size_at<files, &folder::cached_file_bytes_max>},
    {"direct", "read files past the kernel's cache (O_DIRECT)", site,
     switch_at<files, &folder::direct>},
    {"held", "files cached or being sent (default twice cache and 16M)", limits,
     size_at<files, &folder::held_bytes_max>},
    {"recheck", "check a cached file again after this (default {})", limits,
     time_at<files, &folder::trust>},
    {"address-space", "reserved for tasks, not used (default {})", limits,
     size_in<address_space_least, no_limit, machine, &runtime_options::memory_bytes>},
};
static_assert(is_sound(all) && place_of(all, "config") != std::size(all));

}  // namespace serve_rows
}  // namespace heddle::serve
