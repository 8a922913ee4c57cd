// SPDX-License-Identifier: MIT
// Connections of HTTP/2 in the pool: they are shared, and count as unused while no stream is open.
#include <algorithm>
#include <utility>

#include "client/pool.hh"
#include "heddle/client/detail/http2_link.hh"
#include "heddle/sched/runtime.hh"

namespace heddle::http::detail {

std::shared_ptr<http2_link> lease::share(const std::shared_ptr<const client_options>& options) {
  auto link = std::make_shared<http2_link>(std::move(on), options);
  const std::shared_ptr<connection_pool> pool = pool_;
  const std::shared_ptr<origin_connections> of = std::exchange(of_, nullptr);
  of->shared.push_back({link, std::move(permit_)});
  link->changed = [pool, of, &of_link = *link] { pool->note_use(*of, of_link); };
  link->ended = [pool, of = std::shared_ptr<origin_connections>(of), &of_link = *link]() mutable {
    pool->forget_shared(*of, of_link);
    pool->forget_if_unused(std::move(of));
  };
  spawn(http2_link::run(link));
  return link;
}

void connection_pool::note_use(origin_connections& of, http2_link& link) {
  const auto at = std::ranges::find(of.shared, &link, [](const auto& c) { return c.on.get(); });
  if (at == of.shared.end()) return;
  const bool unused = link.unused();
  if (at->counted == unused) return;
  at->counted = unused;
  if (unused) {
    ++idle_;
  } else {
    --idle_;
  }
  if (unused && (shut_ || idle_ > idle_max_)) link.leave();
}

void connection_pool::forget_shared(origin_connections& of, http2_link& link) noexcept {
  const auto at = std::ranges::find(of.shared, &link, [](const auto& c) { return c.on.get(); });
  if (at == of.shared.end()) return;
  if (at->counted) --idle_;
  of.shared.erase(at);
}

void connection_pool::shut_shared() noexcept {
  for (auto& [key, of] : origins_)
    for (const shared_connection& c : of->shared) c.on->leave(true);
}

}  // namespace heddle::http::detail
