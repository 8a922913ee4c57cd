// SPDX-License-Identifier: MIT
// Counts requests by address, and refuses requests beyond the limit.
#include "serve/rate.hh"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "serve/values.hh"

namespace heddle::serve {
namespace {

constexpr std::uint64_t count_most = 1'000'000;
constexpr nanoseconds between_sweeps = std::chrono::seconds(1);

/// An IPv4 address, or the /64 network of an IPv6 one.
std::uint64_t key_of(const address& who) noexcept {
  const address a = who.unmapped();
  if (a.is_v6()) {
    std::uint64_t network = 0;
    std::memcpy(&network, &reinterpret_cast<const ::sockaddr_in6*>(a.native())->sin6_addr,
                sizeof network);
    return network;
  }
  if (!a.is_v4()) return 0;  // a Unix socket: all its clients are one
  // No network of IPv6 begins with these bits in this order of bytes.
  return (std::uint64_t{1} << 32) |
         reinterpret_cast<const ::sockaddr_in*>(a.native())->sin_addr.s_addr;
}

}  // namespace

rate_rule rate_rule::parse(std::string_view text) {
  constexpr const char* shape =
      "write \"COUNT/s\", \"COUNT/m\" or \"COUNT/h\", and a path if you like: \"5/m /login\"";
  const std::vector<std::string_view> words = words_of(text);
  if (words.empty() || words.size() > 2) throw bad_setting(shape);
  const std::size_t slash = words[0].find('/');
  if (slash == words[0].npos || words[0].size() != slash + 2) throw bad_setting(shape);
  rate_rule rule{number_within(words[0].substr(0, slash), "number of requests", 1, count_most),
                 std::chrono::seconds(1), std::nullopt};
  switch (words[0].back()) {
    case 's':
      break;
    case 'm':
      rule.span = std::chrono::minutes(1);
      break;
    case 'h':
      rule.span = std::chrono::hours(1);
      break;
    default:
      throw bad_setting(shape);
  }
  if (words.size() == 2) rule.about.emplace(words[1]);
  return rule;
}

void rate_table::make_room(time_point now) {
  if (now - swept_ < between_sweeps) return;
  swept_ = now;
  std::erase_if(fresh_at_, [now](const auto& each) { return each.second <= now; });
}

nanoseconds rate_table::ask(const address& who, time_point now) {
  const nanoseconds each = rule_.span / static_cast<std::int64_t>(rule_.count);
  const std::uint64_t key = key_of(who);
  auto found = fresh_at_.find(key);
  if (found == fresh_at_.end()) {
    if (fresh_at_.size() >= addresses_max) make_room(now);
    if (fresh_at_.size() >= addresses_max) return {};  // the table is full, so the request passes
    found = fresh_at_.emplace(key, now).first;
  }
  const time_point fresh = std::max(found->second, now) + each;
  if (fresh - now > rule_.span) return fresh - now - rule_.span;
  found->second = fresh;
  return {};
}

rate_limit::rate_limit(bus& b, std::span<const rate_rule> rules, std::span<const network> trusted)
    : bus_(b), tables_(rules.begin(), rules.end()), trusted_(trusted.begin(), trusted.end()) {
  b.bind<asked, &rate_limit::on_asked>(this, 15);
}

flow rate_limit::on_asked(question& q) {
  if (q.again) return flow::go_on;
  const address& who = q.request.peer();
  if (std::ranges::any_of(trusted_, [&](const network& n) { return n.contains(who); }))
    return flow::go_on;
  const time_point now = worker::running().now;
  for (rate_table& table : tables_) {
    if (table.rule().about && !table.rule().about->leads_to(q.request.path())) continue;
    const nanoseconds wait = table.ask(who, now);
    if (wait == nanoseconds::zero()) continue;
    http::response r = http::error_response(429, "too many requests from your address");
    r.header("Retry-After", std::to_string(std::chrono::ceil<std::chrono::seconds>(wait).count()));
    return answer_at_once(bus_, q, std::move(r));
  }
  return flow::go_on;
}

}  // namespace heddle::serve
