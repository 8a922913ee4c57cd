// SPDX-License-Identifier: MIT
// In front of the folder. Requests that need nothing of this go straight on, without a frame.
#include "cli/serve_site.hh"

namespace heddle::cli {
namespace {

constexpr std::string_view metrics_path = "/metrics";

std::string base64(std::string_view bytes) {
  constexpr std::string_view letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j)
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    for (std::size_t j = 0; j < 4; ++j)
      text += i + j <= bytes.size() ? letters[group >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

/// Takes as long whatever it is compared with, so that the time tells nothing of the password.
bool same_secret(std::string_view given, std::string_view wanted) noexcept {
  unsigned differences = given.size() == wanted.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i)
    differences |= static_cast<unsigned>(given[i] ^ wanted[i % wanted.size()]);
  return differences == 0;
}

bool local(const address& peer) noexcept {
  const std::string host = peer.host();
  return host.starts_with("127.") || host == "::1";
}

task<http::response> at_once(http::response r) { co_return r; }

http::static_options options_of(const serve_options& o) {
  http::static_options s;
  s.listing = o.listing;
  s.hidden = o.hidden;
  s.single_page = o.spa;
  s.precompressed = o.precompressed;
  s.compress = o.compress;
  s.headers = o.headers;
  if (o.cors) s.headers.emplace_back("Access-Control-Allow-Origin", "*");
  s.cache_bytes_max = o.cache_bytes_max;
  s.cached_file_bytes_max = o.cached_file_bytes_max;
  s.trust = o.trust;
  return s;
}

}  // namespace

site::site(const serve_options& o, metrics_function show_metrics)
    : files_(o.directory, options_of(o)),
      credentials_(o.auth.empty() ? "" : base64(o.auth)),
      cors_(o.cors),
      metrics_(o.metrics),
      show_metrics_(std::move(show_metrics)) {
  if (o.compress && !http::can_compress())
    throw failure(std::make_error_code(std::errc::not_supported),
                  "--compress: this program was built without zlib");
}

bool site::asks_for_metrics(const http::request_head& head) noexcept {
  return head.path() == metrics_path;
}

bool site::admits(const http::request& asked) const noexcept {
  std::string_view given = asked.header(http::header_id::authorization);
  if (given.size() < 6 || !http::equal_ignoring_case(given.substr(0, 6), "Basic ")) return false;
  return same_secret(given.substr(6), credentials_);
}

site_counters& site_counters::operator+=(const site_counters& other) noexcept {
  files.hits += other.files.hits;
  files.misses += other.files.misses;
  files.compressed += other.files.compressed;
  evictions += other.evictions;
  cached_bytes += other.cached_bytes;
  cached += other.cached;
  return *this;
}

void show(const site_counters& c, http::metrics_page& page) {
  page.counter("heddle_files_hits_total", "Answered from memory.", c.files.hits)
      .counter("heddle_files_misses_total", "A file was opened.", c.files.misses)
      .counter("heddle_files_compressed_total", "Files packed on the fly.", c.files.compressed)
      .counter("heddle_files_evictions_total", "Files that had to leave the cache.", c.evictions)
      .gauge("heddle_files_cached_bytes", "Memory of cached files.", c.cached_bytes)
      .gauge("heddle_files_cached", "Cached files.", c.cached);
}

site_counters site::counters() const noexcept {
  return {files_.counters(), files_.cache().evictions(), files_.cache().bytes(),
          files_.cache().count()};
}

task<http::response> site::metrics() {
  http::metrics_page page;
  co_await show_metrics_(page);
  http::response r(200);
  r.body(http::metrics_type, std::move(page).text());
  co_return r;
}

task<http::response> site::answer(http::request& asked) {
  const bool preflight =
      asked.verb() == http::method::options && asked.head().has(http::header_id::origin);
  if (cors_ && preflight) {  // a browser asks without a password whether it may ask
    http::response r(204);
    r.header("Access-Control-Allow-Methods", "GET, HEAD").header("Access-Control-Max-Age", "600");
    r.header("Access-Control-Allow-Headers", "Range, Authorization, If-None-Match");
    r.shared_lines(files_.extra_lines());
    return at_once(std::move(r));
  }
  if (!credentials_.empty() && !admits(asked)) {
    http::response r = http::error_response(401, "this server asks for a name and a password");
    r.header("WWW-Authenticate", "Basic realm=\"heddle\", charset=\"UTF-8\"");
    r.shared_lines(files_.extra_lines());
    return at_once(std::move(r));
  }
  if (metrics_ && asked.path() == metrics_path) {
    if (!local(asked.peer())) return at_once(http::error_response(404, ""));
    return metrics();
  }
  return files_.answer(asked);
}

}  // namespace heddle::cli
