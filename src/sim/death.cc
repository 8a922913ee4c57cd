// SPDX-License-Identifier: MIT
// The end of a process for the others, and its own time after that: its tasks are cancelled and
// give their memory back, and nothing of what they do has an effect.
#include <algorithm>
#include <utility>

#include "heddle/base/error.hh"
#include "sim/process.hh"

namespace heddle::sim {

namespace {

// From this turn on the clock runs fast, so that tasks that do not end run into their time limit.
constexpr std::uint64_t turns_apart_max = 10'000;
constexpr nanoseconds hurry{1'000'000'000};

}  // namespace

void process::cut(death how) {
  if (cut_) return;
  record(trace_kind::death, -1, how == death::power);
  cut_ = true;
  apart_ = here.clock.shown_at(home.time());
  std::vector<std::uint64_t> ending;
  for (const auto& [number, r] : requests_)
    if (!r->finished) ending.push_back(number);
  std::sort(ending.begin(), ending.end());
  for (const std::uint64_t number : ending) end_canceled(*find_request(number));
  // No wait of the process succeeds any more.
  for (const auto& [number, r] : requests_) {
    for (const completion& c : r->ready)
      if (c.has_block) return_block(c.block);
    r->ready = {{-ECANCELED}};
    r->finished = true;
  }
  const auto open = std::exchange(descriptors_, {});
  for (const auto& [fd, o] : open) {
    if (how == death::power) o->reset();
    o->closed();
  }
  starved_.clear();
}

void process::unwind() noexcept { unwinds_ = true; }

void process::release() {
  requests_.clear();
  by_operation_.clear();
  lanes_.clear();
  ready_lanes_.clear();
  blocks_.clear();
  free_blocks_.clear();
}

void process::turn_apart(worker& w, time_point until) {
  if (!unwinds_) return;
  woken_.store(false, std::memory_order_relaxed);
  if (++turns_apart_ > turns_apart_max) apart_ = add_saturated(apart_, hurry);
  if (ready_lanes_.empty()) {
    stalled = until == never;
    if (!stalled) apart_ = std::max(apart_, until);
    return;
  }
  for (std::size_t count = ready_completions(); count != 0 && !ready_lanes_.empty(); --count)
    deliver_one(w, 0);
}

}  // namespace heddle::sim
