// SPDX-License-Identifier: MIT
// The table of origins, and the task that looks at their unused connections.
#include "client/pool.hh"

#include <algorithm>
#include <vector>

#include "heddle/core/expected.hh"
#include "heddle/core/scope.hh"
#include "heddle/core/sleep.hh"

namespace heddle::http::detail {

connection_pool::connection_pool(std::shared_ptr<const client_options> options)
    : options_(std::move(options)),
      unused_(std::make_shared<unused_limit>(
          unused_limit{.most = options_->idle_max, .time = options_->timeouts.idle})) {}

std::shared_ptr<server_connections> connection_pool::of(const std::string& origin,
                                                        offered versions) {
  std::shared_ptr<server_connections>& found = origins_[origin];
  if (found == nullptr) {
    found =
        std::make_shared<server_connections>(versions, options_->per_origin_max, options_, unused_);
    if (!sweeps_ && !unused_->shut) spawn(sweep_all(shared_from_this()));
    sweeps_ = true;
  }
  return found;
}

task<> connection_pool::sweep_all(std::shared_ptr<connection_pool> self) {
  const nanoseconds pause = std::clamp<nanoseconds>(
      self->unused_->time, std::chrono::milliseconds(1), server_connections::sweep_interval);
  while (!self->origins_.empty()) {
    const auto slept = co_await as_expected(with_cancel(self->shut_, sleep_for(pause)));
    if (!slept) break;
    co_await self->sweep_once();
  }
  self->sweeps_ = false;
}

task<> connection_pool::sweep_once() {
  std::vector<std::shared_ptr<server_connections>> all;
  for (const auto& each : origins_) all.push_back(each.second);
  for (const auto& each : all) co_await each->sweep();
  all.clear();
  std::erase_if(origins_, [](const auto& each) {
    return each.second->empty() && each.second.use_count() == 1;
  });
}

void connection_pool::shut() noexcept {
  unused_->shut = true;
  for (const auto& each : origins_) each.second->close_all();
  shut_.cancel();
}

}  // namespace heddle::http::detail
