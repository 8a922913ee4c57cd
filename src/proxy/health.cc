// SPDX-License-Identifier: MIT
// Health checks: each asks for a path on a connection of its own, as a client would.
#include <system_error>

#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/sleep.hh"
#include "heddle/http/response_parser.hh"
#include "proxy/core.hh"

namespace heddle::http::detail {
namespace {

struct bad_check {
  std::string why;
};

/// Throws failure or bad_check if the upstream does not answer well.
task<> ask_once(const upstream& at, const proxy_options& options) {
  const stream on = co_await at.connect(address());
  const std::string head = "GET " + options.health.path + " HTTP/1.1\r\nHost: " + at.authority +
                           "\r\nUser-Agent: heddle-health-check\r\nConnection: close\r\n\r\n";
  co_await on.write(byte_view(std::string_view(head)));
  response_parser parser(options.bounds);
  for (;;) {
    const received in = co_await on.receive();
    if (in.empty()) throw bad_check{"it closed the connection without an answer"};
    std::string_view bytes = in.text();
    const parse_state now = parser.feed(bytes);
    if (now == parse_state::need_more) continue;
    if (now == parse_state::failed) throw bad_check{std::string(describe(parser.error()))};
    const int status = parser.take().status();
    if (status >= 200 && status < 400) co_return;
    throw bad_check{options.health.path + " gave " + std::to_string(status)};
  }
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
