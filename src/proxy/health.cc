// SPDX-License-Identifier: MIT
// Health checks: each asks for a path on a connection of its own, as a client would.
#include <system_error>

#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/sleep.hh"
#include "heddle/sched/runtime.hh"
#include "proxy/core.hh"
#include "proxy/upstream_exchange.hh"

namespace heddle::http::detail {
namespace {

struct bad_check {
  std::string why;
};

/// Throws failure or bad_check if the upstream does not answer well.
task<> ask_on(upstream_exchange& on, const upstream& at, const std::string& path) {
  const std::string head = "GET " + path + " HTTP/1.1\r\nHost: " + at.authority +
                           "\r\nUser-Agent: heddle-health-check\r\nConnection: close\r\n\r\n";
  bool taken = co_await on.send(head, head.size(), sending::whole);
  if (!taken) taken = co_await on.send_rest();
  static_cast<void>(taken);
  response_head answer;
  for (;;) {
    const parse_state now = on.read_head(answer);
    if (now == parse_state::failed) throw bad_check{on.fault()};
    if (now == parse_state::done) break;
    const bool came = co_await on.arrive();
    if (!came) throw bad_check{"it closed the connection without an answer"};
  }
  if (answer.status() < 200 || answer.status() >= 400)
    throw bad_check{path + " gave " + std::to_string(answer.status())};
}

task<> ask_once(const upstream& at, const proxy_options& options) {
  const bool http1_only = at.connections.only_http1();
  stream on = co_await at.connect(address(), http1_only);
  if (!at.connections.speaks_http2(on, http1_only)) {
    exchange_by_http1 asked(on, options.bounds, options.timeouts.transfer);
    co_return co_await ask_on(asked, at, options.health.path);
  }
  const auto link = std::make_shared<http2_link>(std::move(on), at.connections.options());
  spawn(http2_link::run(link));
  struct closing {
    http2_link& of;
    ~closing() { of.leave(true); }
  } const closes{*link};
  exchange_by_http2 asked(link, link->permits.try_acquire(), at.secure());
  co_await ask_on(asked, at, options.health.path);
}

}  // namespace

task<> proxy_core::check_health(std::weak_ptr<proxy_core> of, std::size_t index) {
  for (bool first = true;; first = false) {
    nanoseconds pause{};
    {
      const std::shared_ptr<proxy_core> self = of.lock();
      if (self == nullptr) co_return;
      pause = self->options.health.interval;
      // The first checks are spread over an interval, so that they do not all come at once.
      if (first) pause = pause / static_cast<int>(self->upstreams.size()) * static_cast<int>(index);
    }
    if (pause > nanoseconds::zero()) co_await sleep_for(pause);
    const std::shared_ptr<proxy_core> self = of.lock();
    if (self == nullptr) co_return;
    upstream& at = *self->upstreams[index];
    bool good = false;
    std::string why;
    try {
      co_await with_timeout(ask_once(at, self->options), self->options.health.timeout);
      good = true;
    } catch (const bad_check& e) {
      why = e.why;
    } catch (const std::system_error& e) {
      if (e.code() == std::errc::operation_canceled) throw;
      why = e.code() == std::errc::timed_out ? "no answer in time" : e.what();
    }
    at.note_check(good, why);
  }
}

}  // namespace heddle::http::detail
