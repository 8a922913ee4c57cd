// SPDX-License-Identifier: MIT
// Finding, keeping and dropping answers.
#include "names/cache.hh"

#include <iterator>

namespace heddle::names::detail {
namespace {

// With each new answer, this many of the least recently used answers are checked, so that expired
// ones are dropped even if no look-up asks for them again.
constexpr int swept_each_time = 4;

}  // namespace

answer_ref answer_cache::find(std::string_view key, time_point now) {
  const auto found = index_.find(key);
  if (found == index_.end()) return nullptr;
  if (found->second->what->until <= now) {
    drop(found->second);
    return nullptr;
  }
  order_.splice(order_.begin(), order_, found->second);
  return found->second->what;
}

void answer_cache::keep(const std::string& key, answer_ref what, time_point now) {
  if (const auto known = index_.find(key); known != index_.end()) drop(known->second);
  if (what->until <= now || entries_max_ == 0) return;
  for (int i = 0; i < swept_each_time && !order_.empty(); ++i) {
    const auto last = std::prev(order_.end());
    if (last->what->until > now) break;
    drop(last);
  }
  while (order_.size() >= entries_max_) drop(std::prev(order_.end()));
  order_.push_front({key, std::move(what)});
  index_.emplace(order_.front().key, order_.begin());
}

void answer_cache::clear() noexcept {
  index_.clear();
  order_.clear();
}

void answer_cache::drop(order::iterator at) noexcept {
  index_.erase(at->key);
  order_.erase(at);
}

}  // namespace heddle::names::detail
