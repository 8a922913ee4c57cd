// SPDX-License-Identifier: MIT
// Chooses upstreams.
#include "proxy/core.hh"

#include <algorithm>
#include <cstring>
#include <limits>

#include "heddle/core/scope.hh"
#include "heddle/core/sleep.hh"
#include "heddle/http/headers.hh"

namespace heddle::http {
namespace detail {
namespace {

constexpr std::size_t upstreams_most = 1024;

[[noreturn]] void refuse_options(const std::string& why) {
  throw failure(std::make_error_code(std::errc::invalid_argument), "proxy_options: " + why);
}

proxy_options checked(proxy_options o) {
  if (o.upstreams.empty()) refuse_options("there is no upstream");
  if (o.upstreams.size() > upstreams_most)
    refuse_options("there are more than " + std::to_string(upstreams_most) + " upstreams");
  if (!o.via.empty() && !token_valid(o.via)) refuse_options("via is not a token");
  if (!o.health.path.empty() && (o.health.path[0] != '/' || !value_valid(o.health.path) ||
                                 o.health.path.find(' ') != std::string::npos))
    refuse_options("the path of health checks begins with / and contains no blank");
  if (o.health.rise == 0 || o.health.fall == 0)
    refuse_options("health checks need a rise and a fall of at least 1");
  if (!o.health.path.empty() && o.health.interval <= nanoseconds::zero())
    refuse_options("the interval of health checks is not positive");
  if (o.proxy_protocol < 0 || o.proxy_protocol > 2) refuse_options("proxy_protocol is 0, 1 or 2");
  return o;
}

/// splitmix64's finalizer (Steele, Lea, Flood, OOPSLA 2014): equal bits become unequal ones.
std::uint64_t mixed(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

std::uint64_t hash_of(std::string_view text) noexcept {
  std::uint64_t h = 0x9e3779b97f4a7c15u;
  for (const char c : text) h = mixed(h ^ static_cast<unsigned char>(c));
  return h;
}

}  // namespace

proxy_core::proxy_core(proxy_options from) : options(checked(std::move(from))) {
  for (const std::string& each : options.upstreams)
    upstreams.push_back(std::make_unique<upstream>(each, options));
}

void proxy_core::start() {
  if (std::exchange(started_, true)) return;
  spawn(sweep_all(weak_from_this()));
  if (options.health.path.empty()) return;
  for (std::size_t i = 0; i < upstreams.size(); ++i) spawn(check_health(weak_from_this(), i));
}

task<> proxy_core::sweep_all(std::weak_ptr<proxy_core> of) {
  for (;;) {
    co_await sleep_for(server_connections::sweep_interval);
    const std::shared_ptr<proxy_core> self = of.lock();
    if (self == nullptr) co_return;
    for (const auto& each : self->upstreams) co_await each->connections.sweep();
  }
}

upstream* proxy_core::best_of(const address& client, const std::vector<upstream*>& candidates) {
  if (candidates.size() <= 1) return candidates.empty() ? nullptr : candidates.front();
  if (options.by == balance::client_address) {
    // Rendezvous hashing (Thaler, Ravishankar 1998): if an upstream goes, only its clients move.
    const std::uint64_t key = hash_of(client ? client.unmapped().host() : std::string());
    return *std::ranges::max_element(
        candidates, {}, [key](const upstream* u) { return mixed(key ^ hash_of(u->name)); });
  }
  const std::size_t first = next_++ % candidates.size();
  if (options.by == balance::round_robin) return candidates[first];
  upstream* best = candidates[first];
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    upstream* const each = candidates[(first + i) % candidates.size()];
    if (each->counters.active < best->counters.active) best = each;
  }
  return best;
}

upstream* proxy_core::choose(const address& client, const std::vector<upstream*>& tried) {
  const time_point now = worker::running().now;
  const auto left_out = [&](upstream* u) { return std::ranges::find(tried, u) != tried.end(); };
  candidates_.clear();
  for (const auto& each : upstreams)
    if (each->up(now) && !left_out(each.get())) candidates_.push_back(each.get());
  if (!candidates_.empty()) return best_of(client, candidates_);
  // All others are paused: one more failure does no harm, and an upstream may have come back.
  for (const auto& each : upstreams)
    if (each->healthy() && !left_out(each.get())) candidates_.push_back(each.get());
  return best_of(client, candidates_);
}

void proxy_core::tell(const std::string& line) {
  if (!options.log) return;
  const time_point now = worker::running().now;
  if (told_since_ == time_point::min() || now - told_since_ >= std::chrono::seconds(1)) {
    if (untold_ != 0) options.log(std::to_string(untold_) + " more requests failed");
    told_since_ = now;
    told_ = 0;
    untold_ = 0;
  }
  if (told_ == options.log_lines_max) {
    ++untold_;
    return;
  }
  ++told_;
  options.log(line);
}

}  // namespace detail

upstream_counters& upstream_counters::operator+=(const upstream_counters& other) noexcept {
  requests += other.requests;
  answers += other.answers;
  failures += other.failures;
  connections += other.connections;
  reused += other.reused;
  retries += other.retries;
  downs += other.downs;
  active += other.active;
  idle += other.idle;
  up = up && other.up;
  return *this;
}

}  // namespace heddle::http
