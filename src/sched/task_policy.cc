// SPDX-License-Identifier: MIT
// The ready-made task policies.
#include "heddle/sched/task_policy.hh"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <new>
#include <vector>

#include "heddle/core/detail/plain_wait.hh"

namespace heddle {
namespace {

class priority_order final : public task_policy {
 public:
  void push(ready_task t) noexcept override {
    const unsigned level = t.priority();
    levels_[level].push(t);
    used_[level / 64] |= std::uint64_t{1} << level % 64;
  }
  ready_task pop() noexcept override {
    for (std::size_t word = used_.size(); word-- != 0;) {
      if (used_[word] == 0) continue;
      const auto bit = static_cast<unsigned>(std::bit_width(used_[word])) - 1;
      task_list& level = levels_[word * 64 + bit];
      const ready_task t = level.pop();
      if (level.empty()) used_[word] &= ~(std::uint64_t{1} << bit);
      return t;
    }
    return {};
  }

 private:
  std::array<task_list, 256> levels_;
  std::array<std::uint64_t, 4> used_{};  // a bit for each level with tasks
};

class deadline_order final : public task_policy {
 public:
  void push(ready_task t) noexcept override {
    try {
      heap_.push_back({t.deadline(), count_++, t});
    } catch (const std::bad_alloc&) {
      return rest_.push(t);
    }
    std::ranges::push_heap(heap_, later);
  }
  ready_task pop() noexcept override {
    if (heap_.empty()) return rest_.pop();
    std::ranges::pop_heap(heap_, later);
    const ready_task t = heap_.back().task;
    heap_.pop_back();
    return t;
  }

 private:
  struct entry {
    time_point due;
    std::uint64_t number;
    ready_task task;
  };
  static bool later(const entry& a, const entry& b) noexcept {
    return a.due != b.due ? a.due > b.due : a.number > b.number;
  }

  std::vector<entry> heap_;
  std::uint64_t count_ = 0;
  task_list rest_;
};

}  // namespace

const context* ready_task::context_of() const noexcept {
  const link l = detail::coroutine_behind(frame_);
  if (l == no_link) return nullptr;
  const std::uint32_t low = is_plain(l) ? plain_of(l).context : promise_of(l).context_low;
  return low == 0 ? nullptr : &worker::running().context_at(low);
}

unsigned ready_task::priority() const noexcept {
  const context* const c = context_of();
  return c == nullptr ? 0 : c->priority();
}

time_point ready_task::deadline() const noexcept {
  const context* const c = context_of();
  return c == nullptr ? never : c->deadline();
}

std::unique_ptr<task_policy> priorities() { return std::make_unique<priority_order>(); }
std::unique_ptr<task_policy> earliest_task() { return std::make_unique<deadline_order>(); }

}  // namespace heddle
