// SPDX-License-Identifier: MIT
// Connects, keeps connections, and counts failures.
#include "proxy/upstream.hh"

#include <algorithm>
#include <utility>

#include "heddle/base/sometimes.hh"
#include "heddle/client/connect.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/http/headers.hh"
#include "heddle/http/proxy_protocol.hh"
#include "heddle/io/resolve.hh"
#include "heddle/io/tcp.hh"
#include "heddle/io/unix.hh"
#if HEDDLE_WITH_TLS
#include "heddle/tls/stream.hh"
#endif

namespace heddle::http::detail {
namespace {

constexpr std::string_view unix_scheme = "unix:";
constexpr std::string_view h2c_scheme = "h2c://";
constexpr std::size_t socket_path_max = 107;

/// RFC 3986 section 3.1: schemes are case-insensitive.
bool has_scheme(std::string_view text, std::string_view scheme) noexcept {
  return equal_ignoring_case(text.substr(0, scheme.size()), scheme);
}
constexpr std::uint8_t window_blocks = 16;  // 64 KiB of an answer arrive in one turn

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw failure(std::make_error_code(std::errc::invalid_argument),
                "'" + std::string(text) + "' is no upstream: " + why);
}

url parsed(std::string_view text) {
  const bool h2c = has_scheme(text, h2c_scheme);
  if (h2c && has_scheme(text.substr(h2c_scheme.size()), unix_scheme))
    refuse(text,
           "a Unix socket is named without another scheme, unix:/run/app.socket, and gets "
           "HTTP/1.1");
  const auto at =
      url::parse(h2c ? "http://" + std::string(text.substr(h2c_scheme.size())) : std::string(text));
  if (!at)
    refuse(text,
           (at.error() == url_problem::scheme_unknown
                ? std::string("its scheme is not http, https, h2c or unix")
                : std::string(describe(at.error()))) +
               "; write http://127.0.0.1:3000, https://app.example.com, h2c://127.0.0.1:3000 or "
               "unix:/run/socket");
  if (at->target != "/")
    refuse(text, "requests keep their own paths; leave '" + at->target + "' out");
  return *at;
}

/// TLS by room tls, whose authorities are read at the first connection.
upstream_layer default_layer(bool http2) {
#if HEDDLE_WITH_TLS
  return [http2, kept = std::make_shared<std::optional<tls::client_context>>()](stream over,
                                                                                std::string host) {
    if (!*kept) {
      tls::client_options offers;
      if (http2) offers.alpn.emplace_back("h2");
      offers.alpn.emplace_back("http/1.1");
      kept->emplace(std::move(offers));
    }
    return tls::connect(std::move(over), std::move(host), **kept);
  };
#else
  static_cast<void>(http2);
  return {};
#endif
}

std::shared_ptr<const client_options> options_of_links(const proxy_options& from) {
  auto all = std::make_shared<client_options>();
  all->timeouts.transfer = from.timeouts.transfer;
  all->timeouts.idle = from.timeouts.idle;
  all->bounds = from.bounds;
  all->informational_max = from.informational_max;
  all->http2 = from.http2;
  return all;
}

/// The PROXY protocol names one client for all of a connection, so no stream can share it.
offered versions_of(std::string_view text, const proxy_options& options) {
  if (has_scheme(text, h2c_scheme)) return offered::http2;
  const bool secure = !has_scheme(text, unix_scheme) && parsed(text).secure;
  return secure && options.http2.enabled && options.proxy_protocol == 0 ? offered::alpn
                                                                        : offered::http1;
}

std::string in_seconds(nanoseconds span) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(span).count();
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

}  // namespace

layer_failure::layer_failure(const std::system_error& e) : failure(e.code()), why_(e.what()) {
  const std::string of_code = ": " + e.code().message();
  if (why_.size() > of_code.size() && why_.ends_with(of_code))
    why_.resize(why_.size() - of_code.size());
}

upstream::upstream(std::string_view text, const proxy_options& options)
    : name(text),
      authority(has_scheme(text, unix_scheme) ? "localhost" : parsed(text).authority()),
      room(std::max<std::uint32_t>(options.connections_max, 1)),
      connections(versions_of(text, options), server_connections::uncounted,
                  options_of_links(options),
                  std::make_shared<unused_limit>(
                      unused_limit{.most = options.idle_max, .time = options.timeouts.idle})),
      options_(options) {
  if (has_scheme(text, unix_scheme)) {
    path_ = text.substr(unix_scheme.size());
    if (path_.empty()) refuse(text, "name the socket: unix:/run/app.socket");
    if (path_.size() > socket_path_max) refuse(text, "a socket's path has at most 107 bytes");
    return;
  }
  at_ = parsed(text);
  if (has_scheme(text, h2c_scheme) && options.proxy_protocol != 0)
    refuse(text, "proxy_protocol names one client, and clients share connections of HTTP/2");
  if (const auto found = address::parse(at_->host, at_->port)) literal_ = *found;
  if (!at_->secure) return;
  layer_ = options.secure_layer ? options.secure_layer : default_layer(options.http2.enabled);
  layer_http1_ = options.secure_layer_http1 ? options.secure_layer_http1
                 : options.secure_layer     ? options.secure_layer
                                            : default_layer(false);
  if (!layer_)
    refuse(text,
           "https needs TLS, which this build does not have; install OpenSSL 3 and build "
           "again");
}

task<stream> upstream::reach() const {
  stream_options options;
  options.receive_window = window_blocks;
  if (!path_.empty()) co_return co_await unix_connect(path_, options);
  if (literal_ && options_.tcp == nullptr) co_return co_await tcp_connect(literal_, options);
  if (literal_) co_return co_await options_.tcp->connect(literal_);
  std::vector<address> found = co_await resolve(at_->host, std::to_string(at_->port));
  co_return co_await connect_first(options_.tcp, std::move(found), options_.timeouts.stagger);
}

task<stream> upstream::open(address client, bool http1_only) const {
  stream on = co_await reach();
  if (options_.proxy_protocol != 0) {
    // A stream does not tell its own end, so the upstream gets its own address as the server's.
    std::string header = proxy_header_text(options_.proxy_protocol, client, on.peer());
    co_await on.write(std::move(header));
  }
  if (!at_ || !at_->secure) co_return on;
  try {
    const upstream_layer& layer = http1_only ? layer_http1_ : layer_;
    co_return co_await layer(std::move(on), at_->host);
  } catch (const std::system_error& e) {
    if (e.code() == std::errc::operation_canceled || e.code() == std::errc::timed_out) throw;
    throw layer_failure(e);
  }
}

task<stream> upstream::connect(address client, bool http1_only) const {
  co_return co_await with_timeout(open(client, http1_only), options_.timeouts.connect);
}

namespace {

/// Connects for one request.
struct dial_upstream final : dialer {
  dial_upstream(const upstream& to, address of) : at(to), client(std::move(of)) {}
  task<stream> dial(bool http1_only) override { return at.connect(client, http1_only); }

  const upstream& at;
  const address client;
};

}  // namespace

bool upstream::may_lack_http1() const noexcept { return has_scheme(name, h2c_scheme); }

task<place> upstream::find_place(address client, server_connections::wanted by) {
  dial_upstream connects(*this, client);
  co_return co_await connections.find(by, connects);
}

void upstream::say(const std::string& line) const {
  if (options_.log) options_.log("upstream " + name + ' ' + line);
}

void upstream::note_success() {
  if (!failed_at_.empty()) [[unlikely]]
    failed_at_.clear();
  if (paused_) [[unlikely]] {
    HEDDLE_SOMETIMES("an upstream that was taken out is used again");
    paused_ = false;
    paused_until_ = time_point::min();
    say("is up again");
  }
}

void upstream::note_failure(const std::string& why) {
  ++counters.failures;
  const failure_limit& most = options_.failures;
  if (most.count == 0) return;
  const time_point now = clock::now();
  failed_at_.push_back(now);
  while (add_saturated(failed_at_.front(), most.within) < now || failed_at_.size() > most.count)
    failed_at_.pop_front();
  // After a pause the first failure begins the next one.
  if (failed_at_.size() < most.count && !(paused_ && now >= paused_until_)) return;
  if (now < paused_until_) return;
  paused_until_ = add_saturated(now, most.pause);
  failed_at_.clear();
  ++counters.downs;
  if (!std::exchange(paused_, true))
    say("is down: " + std::to_string(most.count) + " failures, the last: " + why +
        "; tried again in " + in_seconds(most.pause));
}

void upstream::note_check(bool good, const std::string& why) {
  if (good == healthy_) {
    in_a_row_ = 0;
    return;
  }
  if (++in_a_row_ < (good ? options_.health.rise : options_.health.fall)) return;
  in_a_row_ = 0;
  healthy_ = good;
  if (good) {
    paused_ = false;
    paused_until_ = time_point::min();
    say("is up again: its health checks succeed");
  } else {
    ++counters.downs;
    say("is down: its health checks fail: " + why);
  }
}

}  // namespace heddle::http::detail
