// SPDX-License-Identifier: MIT
// Connections of HTTP/2 to an upstream, which many requests use at once. Over TLS the upstream
// decides about the version when a connection is made, so requests to one whose version is not
// known wait for the request that connects.
#include <algorithm>
#include <utility>

#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/io/layer.hh"
#include "heddle/sched/runtime.hh"
#include "proxy/upstream.hh"

namespace heddle::http::detail {

upstream::~upstream() {
  for (const std::shared_ptr<http2_link>& each : std::exchange(links_, {})) {
    each->ended = nullptr;
    each->leave(true);
  }
}

bool upstream::may_share() const noexcept {
  if (options_.proxy_protocol != 0 || version_ == version::http1_required) return false;
  return prior_knowledge_ || (secure() && options_.http2.enabled && version_ != version::http1);
}

bool upstream::is_http2(const stream& on) const noexcept {
  if (prior_knowledge_) return true;
  const stream_layer* const layer = layer_of(on);
  return layer != nullptr && layer->application_protocol() == "h2";
}

std::size_t upstream::unused_links() const noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(links_, [](const auto& each) { return each->unused(); }));
}

upstream::carrier upstream::free_stream() const {
  carrier found;
  for (const std::shared_ptr<http2_link>& each : links_) {
    if (!each->takes_requests()) continue;
    found.permit = each->permits.try_acquire();
    if (!found.permit) continue;
    found.link = each;
    found.reused = true;
    break;
  }
  return found;
}

/// The connection for which the fewest requests wait, if there are as many as there may be.
std::shared_ptr<http2_link> upstream::full_link() const {
  std::uint32_t open = 0;
  std::shared_ptr<http2_link> found;
  for (const std::shared_ptr<http2_link>& each : links_) {
    if (!each->takes_requests()) continue;
    ++open;
    if (found == nullptr || each->permits.waiting() < found->permits.waiting()) found = each;
  }
  return open >= std::max<std::uint32_t>(options_.http2.connections_max, 1) ? found : nullptr;
}

upstream::carrier upstream::carrier_on(stream&& on) {
  ++counters.connections;
  carrier made;
  if (!is_http2(on)) {
    if (version_ != version::http1_required) version_ = version::http1;
    made.alone = std::move(on);
    return made;
  }
  version_ = version::http2;
  made.link = std::make_shared<http2_link>(std::move(on), link_options_);
  made.link->ended = [this, of = made.link.get()] {
    std::erase_if(links_, [of](const auto& each) { return each.get() == of; });
  };
  links_.push_back(made.link);
  made.permit = made.link->permits.try_acquire();
  spawn(http2_link::run(made.link));
  return made;
}

task<upstream::carrier> upstream::find_carrier() {
  const time_point due = add_saturated(clock::now(), options_.timeouts.queue);
  while (may_share()) {
    carrier found = free_stream();
    if (found.link != nullptr) co_return found;
    if (const std::shared_ptr<http2_link> full = full_link()) {
      auto permit = co_await as_expected(
          with_deadline(with_cancel(full->gone, full->permits.acquire()), due));
      if (permit && full->takes_requests()) {
        found.link = full;
        found.permit = std::move(*permit);
        found.reused = true;
        co_return found;
      }
      if (!permit && !full->gone.canceled()) throw failure(permit.error());
      continue;
    }
    const std::uint64_t failures = connect_failures_;
    const gate::hold turn = co_await with_deadline(connecting_.lock(), due);
    if (connect_failures_ != failures) std::rethrow_exception(last_failure_);
    if (!may_share() || full_link() != nullptr) continue;
    found = free_stream();
    if (found.link != nullptr) co_return found;
    try {
      co_return carrier_on(co_await connect(address(), false));
    } catch (const std::system_error& e) {
      if (e.code() == std::errc::operation_canceled) throw;
      ++connect_failures_;
      last_failure_ = std::current_exception();
      throw;
    }
  }
  co_return carrier();
}

}  // namespace heddle::http::detail
