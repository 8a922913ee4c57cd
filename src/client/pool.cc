// SPDX-License-Identifier: MIT
// Leases, and the tasks that watch idle connections.
#include "client/pool.hh"
#include "heddle/core/expected.hh"

#include <algorithm>

#include "heddle/core/scope.hh"

namespace heddle::http::detail {

task<> lease::wait_for_room(time_point due) {
  permit_ = co_await with_deadline(of_->room.acquire(), due);
}

bool lease::take_idle() {
  if (of_->idle.empty()) return false;
  const std::shared_ptr<idle_connection> c = std::move(of_->idle.back());
  of_->idle.pop_back();
  --pool_->idle_;
  c->idle = false;
  on = std::move(c->on);
  c->taken.cancel();
  reused = true;
  return true;
}

void lease::keep() {
  if (of_ == nullptr) return;
  if (!pool_->shut_ && pool_->idle_ < pool_->idle_max_) pool_->add_idle(of_, std::move(on));
  end();
}

void lease::end() noexcept {
  if (of_ == nullptr) return;
  if (on) on.close();
  permit_.release();
  pool_->forget_if_unused(std::move(of_));
  of_ = nullptr;
}

std::shared_ptr<origin_connections> connection_pool::origin(const std::string& key) {
  std::shared_ptr<origin_connections>& found = origins_[key];
  if (found == nullptr) found = std::make_shared<origin_connections>(key, per_origin_max_);
  return found;
}

lease connection_pool::of(const std::string& key) { return of(origin(key)); }

void connection_pool::add_idle(const std::shared_ptr<origin_connections>& of, stream&& on) {
  auto c = std::make_shared<idle_connection>();
  c->on = std::move(on);
  of->idle.push_back(c);
  ++idle_;
  spawn(watch(shared_from_this(), of, std::move(c)));
}

task<> connection_pool::watch(std::shared_ptr<connection_pool> pool,
                              std::shared_ptr<origin_connections> of,
                              std::shared_ptr<idle_connection> c) {
  // A later lease may take the connection before this task has begun.
  if (c->idle) {
    const stream on = c->on;
    const auto outcome =
        co_await as_expected(with_cancel(c->taken, with_timeout(on.readable(), pool->idle_time_)));
    static_cast<void>(outcome);  // in every case the connection is of no more use
  }
  if (c->idle) pool->close_idle(*of, *c);
  pool->forget_if_unused(std::move(of));
}

void connection_pool::close_idle(origin_connections& of, idle_connection& c) noexcept {
  c.idle = false;
  c.on.close();
  --idle_;
  std::erase_if(of.idle, [&](const auto& each) { return each.get() == &c; });
}

/// Erases an origin from the table when only the table and the caller have a pointer to it.
void connection_pool::forget_if_unused(std::shared_ptr<origin_connections>&& of) noexcept {
  const std::shared_ptr<origin_connections> last = std::move(of);
  if (last->idle.empty() && last.use_count() == 2) origins_.erase(last->key);
}

void connection_pool::shut() noexcept {
  shut_ = true;
  shut_shared();
  for (auto& [key, of] : origins_) {
    for (const auto& c : std::exchange(of->idle, {})) {
      c->idle = false;
      --idle_;
      c->on.close();
      c->taken.cancel();
    }
  }
}

}  // namespace heddle::http::detail
