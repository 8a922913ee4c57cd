// SPDX-License-Identifier: MIT
// Asking the servers in turn until one has an answer.
#include "names/servers.hh"

#include <algorithm>
#include <optional>

#include "heddle/base/sometimes.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/names/found.hh"
#include "heddle/sched/detail/here.hh"
#include "names/exchange.hh"

namespace heddle::names::detail {
namespace {

std::string span_text(nanoseconds span) {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(span).count();
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

/// The indices of the servers in the order in which this question asks them.
std::vector<std::size_t> order_of(server_set& servers) {
  const std::size_t count = servers.all.size();
  const std::size_t first = servers.rotate ? servers.next++ % count : 0;
  const time_point now = clock::now();
  std::vector<std::size_t> order;
  std::vector<std::size_t> later;
  for (std::size_t i = first; i < first + count; ++i)
    (servers.all[i % count].backoff_until <= now ? order : later).push_back(i % count);
  order.insert(order.end(), later.begin(), later.end());
  return order;
}

/// The reply of a server as an answer with its time; nothing if another server should be asked.
std::optional<answer> conclude(reply&& r, const address& from, const resolver_options& options) {
  using kind = reply::kind;
  const time_point now = clock::now();
  const auto seconds = [](std::uint32_t s) { return nanoseconds(std::chrono::seconds(s)); };
  answer a;
  a.name = std::move(r.name);
  if (r.is == kind::addresses) {
    a.addresses = std::move(r.addresses);
    a.until = add_saturated(now, std::min(seconds(r.ttl), options.cache.ttl_max));
    return a;
  }
  if (r.is != kind::no_such_name && r.is != kind::no_address) return {};
  const bool none = r.is == kind::no_such_name;
  a.code = none ? errc::no_such_name : errc::no_address;
  a.why = (none ? "there is no such name (" : "it has no address of this version (") +
          from.to_string() + ")";
  // RFC 2308 section 5: without an SOA record the denial is not cached.
  if (r.negative_ttl)
    a.until = add_saturated(now, std::min(seconds(*r.negative_ttl), options.cache.negative_max));
  return a;
}

/// Notes why a server was of no use.
void note_failure(answer& sum, errc code, const address& from, const std::string& why) {
  sum.code = code;
  sum.why = from.to_string() + ": " + why;
}

}  // namespace

task<answer> ask_servers(std::shared_ptr<server_set> servers, std::string name, record_type type,
                         const resolver_options& options, semaphore& sockets,
                         resolver_counters& counters) {
  const auto permit = co_await sockets.acquire();
  const time_point due = add_saturated(clock::now(), options.whole);
  const std::vector<std::size_t> order = order_of(*servers);
  answer sum;
  nanoseconds span = servers->timeout;
  for (std::uint32_t round = 0; round < std::max(servers->tries, 1u); ++round) {
    for (const std::size_t i : order) {
      server& one = servers->all[i];
      for (bool again = true; again;) {
        again = false;
        const nanoseconds left = std::min(span, span_between(clock::now(), due));
        if (left <= nanoseconds::zero()) break;
        ++counters.tries;
        question q;
        q.name = name;
        q.type = type;
        q.id = static_cast<std::uint16_t>(driver_here().random() >> 16);
        const bool edns = one.edns && options.udp_bytes > 0;
        auto r = co_await as_expected(with_timeout(
            ask_server(one.at, std::move(q), edns, options, servers->tcp_only, counters), left));
        if (!r) {
          if (r.error() == std::errc::operation_canceled) throw failure(r.error());
          const bool silent = r.error() == std::errc::timed_out;
          if (silent) HEDDLE_SOMETIMES("a name server is silent");
          if (!silent) HEDDLE_SOMETIMES("a name server cannot be asked");
          one.backoff_until = add_saturated(clock::now(), options.server_backoff);
          note_failure(sum, errc::no_answer, one.at,
                       silent ? "no answer within " + span_text(left) : r.error().message());
          continue;
        }
        one.backoff_until = time_point::min();
        if (r->is == reply::kind::no_edns) {
          one.edns = false;
          again = true;
        } else if (r->is == reply::kind::failed) {
          note_failure(sum, errc::server_failed, one.at, r->why);
        } else if (r->is == reply::kind::damaged) {
          note_failure(sum, errc::bad_answer, one.at, "its answer is damaged: " + r->why);
        } else if (auto a = conclude(std::move(*r), one.at, options)) {
          co_return std::move(*a);
        }
      }
    }
    span = std::min(add_saturated(span, span), options.timeout_max);
  }
  if (!sum.code) {
    sum.code = errc::no_answer;
    sum.why = "no server was asked within resolver_options::whole";
  }
  sum.until = add_saturated(clock::now(), options.cache.failure);
  co_return sum;
}

}  // namespace heddle::names::detail
