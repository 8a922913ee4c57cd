// SPDX-License-Identifier: MIT
// The world's clock, queue and descriptors, and the turn that ties them together. See world.hh;
// requests are in requests.cc.
#include "sim/world.hh"

#include <algorithm>
#include <utility>

#include "heddle/base/error.hh"
#include "heddle/sim/driver.hh"

namespace heddle::sim {

world::world(sim_driver& owner, sim_options o)
    : options(std::move(o)),
      choices{options.choices},
      log(options.trace_lines_max),
      trouble(options, &choices),
      chance(options.seed, 'w', &choices),
      program(options.seed, 'p'),
      net(*this),
      files(*this),
      driver_(owner),
      time_(options.start),
      next_descriptor_(options.first_descriptor) {
  ::sem_init(&bell_, 0, 0);
}

world::~world() { ::sem_destroy(&bell_); }

void world::at(time_point when, std::move_only_function<void()> what) {
  queue_.emplace(key{std::max(when, time_), ++steps_}, std::move(what));
}

void world::after(nanoseconds span, std::move_only_function<void()> what) {
  if (span.count() <= 0)
    what();
  else
    at(add_saturated(time_, span), std::move(what));
}

void world::changed(object& o) {
  if (o.stirred) return;
  o.stirred = true;
  stirred_.push_back(o.shared_from_this());
}

void world::record(trace_kind kind, int fd, std::int64_t value, std::uint64_t number) {
  log.add(time_, kind, number, op_code::poll, fd, value);
}

void world::advance(nanoseconds span) noexcept { time_ = add_saturated(time_, span); }

std::shared_ptr<object> world::find(int fd) const {
  const auto found = descriptors_.find(fd);
  return found == descriptors_.end() ? nullptr : found->second;
}

int world::add_descriptor(std::shared_ptr<object> o) {
  if (!descriptor_left()) return -EMFILE;
  int fd = next_descriptor_;
  if (options.reuse_descriptors) {
    fd = options.first_descriptor;
    for (auto at = descriptors_.begin(); at != descriptors_.end() && at->first == fd; ++at) ++fd;
  } else {
    ++next_descriptor_;
  }
  o->fd = fd;
  record(trace_kind::opened, fd, 0);
  descriptors_.emplace(fd, std::move(o));
  return fd;
}

int world::add_both(std::shared_ptr<object> (&made)[2], int (&ends)[2]) {
  if (descriptors_.size() + 2 > options.descriptors_max) return -EMFILE;
  for (int i = 0; i < 2; ++i) ends[i] = add_descriptor(std::move(made[i]));
  return 0;
}

bool world::raise_signal(int number) {
  HEDDLE_ASSERT(number >= 1 && number <= 64, "give a signal number from 1 to 64");
  const std::uint64_t bit = std::uint64_t{1} << (number - 1);
  bool heard = false;
  for (const auto& [fd, o] : descriptors_) {
    const auto* reader = dynamic_cast<signal_reader*>(o.get());
    if (reader == nullptr || (reader->mask & bit) == 0) continue;
    heard = true;
    changed(*o);
  }
  record(trace_kind::signal, -1, number, heard);
  if (heard) signals_raised |= bit;
  return heard;
}

void world::forget_signals(int fd, std::uint64_t mask) {
  for (const auto& [other, o] : descriptors_)
    if (const auto* reader = dynamic_cast<signal_reader*>(o.get()); reader && other != fd)
      mask &= ~reader->mask;
  signals_raised &= ~mask;
}

void world::return_block(std::uint32_t block) noexcept {
  const bool out = block < blocks_.size() && blocks_[block] != nullptr;
  HEDDLE_ASSERT(out, "a block goes back once: is it returned twice?");
  blocks_[block].reset();  // freed at once, so that a late read of it is seen by sanitizers
  free_blocks_.push_back(block);
  for (const auto& waits : std::exchange(starved_, {})) changed(*waits);
}

void world::wake() noexcept {
  woken_.store(true, std::memory_order_release);  // pairs with the exchange in turn()
  ::sem_post(&bell_);
}

void world::wait_outside() noexcept {
  while (::sem_wait(&bell_) != 0) {
  }
}

void world::jump(time_point to) {
  if (to <= time_) return;
  record(trace_kind::jump, -1, (to - time_).count());
  time_ = to;
}

void world::run_due() {
  while (!queue_.empty() && queue_.begin()->first.first <= time_) {
    auto event = queue_.extract(queue_.begin());
    event.mapped()();
    settle();
  }
}

void world::turn(worker& w, time_point until) {
  stalled = false;
  const bool woken = woken_.exchange(false, std::memory_order_acquire);
  settle();
  run_due();
  while (ready_lanes_.empty()) {
    if (woken) return;
    if (outside.load(std::memory_order_relaxed) > 0 && until > time_) {
      wait_outside();
      woken_.store(false, std::memory_order_relaxed);
      return;
    }
    const time_point next = queue_.empty() ? never : queue_.begin()->first.first;
    if (next > until || next == never) {
      stalled = until == never;
      stalled_turns_ = stalled ? stalled_turns_ + 1 : 0;
      HEDDLE_ASSERT(stalled_turns_ <= options.stalled_turns_max,
                    "the program waits for what can never come: look at trace_text() and dump()");
      if (!stalled) jump(until);
      return;
    }
    jump(next);
    run_due();
  }
  stalled_turns_ = 0;
  // Only what was ready by now: a program that always asks for more must not keep the turn going.
  // Some turns end early, so that what is delivered together differs from run to run.
  std::size_t count = 0;
  for (const std::uint64_t lane : ready_lanes_) count += lanes_[lane].size();
  for (; count != 0 && !ready_lanes_.empty(); --count) {
    deliver_one(w);
    if (chance.below(16) == 0) break;
  }
}

}  // namespace heddle::sim
