// SPDX-License-Identifier: MIT
// A process's descriptors, signals and blocks, and the turn that ties it to the world. See
// process.hh; requests are in requests.cc.
#include "sim/process.hh"

#include <algorithm>
#include <utility>

#include "heddle/base/error.hh"
#include "heddle/sim/driver.hh"

namespace heddle::sim {

process::process(world& home, computer& here, sim_driver& io)
    : here(here),
      home(home),
      options(home.options),
      chance(here.number == 0 ? home.chance : own_chance_),
      name(here.started == 0 ? here.name : here.name + '#' + std::to_string(here.started + 1)),
      trouble(options, stream('f', ".faults"), here.number == 0 ? nullptr : &home.faults, name),
      driver_(io),
      own_chance_(stream('o', ".order")),
      program_(stream('p', ".program")),
      next_descriptor_(options.first_descriptor) {
  ::sem_init(&bell_, 0, 0);
}

/// A stream of chance of this process: by a letter in a world of one, else by its name.
random_stream process::stream(char letter, const char* purpose) {
  if (here.number != 0) return home.stream(name + purpose);
  const bool of_tape = letter != 'p';
  return {options.seed, static_cast<unsigned char>(letter), of_tape ? &home.choices : nullptr};
}

process::~process() { ::sem_destroy(&bell_); }

void process::record(trace_kind kind, std::uint64_t number, op_code code, int fd,
                     std::int64_t value) {
  if (!cut_) home.log.add({home.time(), here.number}, kind, number, code, fd, value);
}

void process::note(std::string_view text) {
  if (!cut_) home.log.note({home.time(), here.number}, text);
}

time_point process::now() noexcept {
  if (cut_) return apart_ += options.clock_step;
  return here.clock.shown_at(home.read_clock());
}

nanoseconds process::wall() noexcept {
  static_cast<void>(now());
  return here.wall();
}

std::uint64_t process::random() noexcept {
  const std::uint64_t drawn = program_.next();
  record(trace_kind::random, -1, static_cast<std::int64_t>(drawn));
  return drawn;
}

int process::draw_fault(sim_call call) noexcept { return cut_ ? -ECANCELED : trouble.draw(call); }

std::shared_ptr<object> process::find(int fd) const {
  const auto found = descriptors_.find(fd);
  return found == descriptors_.end() ? nullptr : found->second;
}

int process::add_descriptor(std::shared_ptr<object> o) {
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

int process::add_both(std::shared_ptr<object> (&made)[2], int (&ends)[2]) {
  if (descriptors_.size() + 2 > options.descriptors_max) return -EMFILE;
  for (int i = 0; i < 2; ++i) ends[i] = add_descriptor(std::move(made[i]));
  return 0;
}

void process::replace_descriptor(int fd, std::shared_ptr<object> o) {
  close(fd);
  o->fd = fd;
  record(trace_kind::opened, fd, 0);
  descriptors_.emplace(fd, std::move(o));
}

bool process::raise_signal(int number) {
  HEDDLE_ASSERT(number >= 1 && number <= 64, "give a signal number from 1 to 64");
  const std::uint64_t bit = std::uint64_t{1} << (number - 1);
  bool heard = false;
  for (const auto& [fd, o] : descriptors_) {
    const auto* reader = dynamic_cast<signal_reader*>(o.get());
    if (reader == nullptr || (reader->mask & bit) == 0) continue;
    heard = true;
    home.changed(*o);
  }
  record(trace_kind::signal, -1, number, heard);
  if (heard) signals_raised |= bit;
  return heard;
}

void process::forget_signals(int fd, std::uint64_t mask) {
  for (const auto& [other, o] : descriptors_)
    if (const auto* reader = dynamic_cast<signal_reader*>(o.get()); reader && other != fd)
      mask &= ~reader->mask;
  signals_raised &= ~mask;
}

void process::return_block(std::uint32_t block) noexcept {
  const bool out = block < blocks_.size() && blocks_[block] != nullptr;
  HEDDLE_ASSERT(out, "a block goes back once: is it returned twice?");
  blocks_[block].reset();  // freed at once, so that a late read of it is seen by sanitizers
  free_blocks_.push_back(block);
  for (const auto& waits : std::exchange(starved_, {})) home.changed(*waits);
}

void process::wake() noexcept {
  woken_.store(true, std::memory_order_release);  // pairs with the exchange in turn_alone()
  ::sem_post(&bell_);
}

void process::wait_outside() noexcept {
  while (::sem_wait(&bell_) != 0) {
  }
}

void process::turn(worker& w, time_point until) {
  stalled = false;
  if (cut_) return turn_apart(w, until);
  if (here.number == 0) return turn_alone(w, until);
  woken_.store(false, std::memory_order_relaxed);
  home.settle();
  deliver_ready(w);
}

/// Delivers, and if nothing is ready, moves the time to the next event, but not beyond `until`.
void process::turn_alone(worker& w, time_point until) {
  const bool woken = woken_.exchange(false, std::memory_order_acquire);
  home.settle();
  home.run_due();
  while (ready_lanes_.empty()) {
    if (woken) return;
    if (outside.load(std::memory_order_relaxed) > 0 && until > home.time()) {
      wait_outside();
      woken_.store(false, std::memory_order_relaxed);
      return;
    }
    const time_point next = home.next_event();
    if (next > until || next == never) {
      stalled = until == never;
      stalled_turns_ = stalled ? stalled_turns_ + 1 : 0;
      HEDDLE_ASSERT(stalled_turns_ <= options.stalled_turns_max,
                    "the program waits for what can never come: look at trace_text() and dump()");
      if (!stalled) home.jump(until);
      return;
    }
    home.jump(next);
    home.run_due();
  }
  stalled_turns_ = 0;
  deliver_ready(w);
}

std::size_t process::ready_completions() const {
  std::size_t count = 0;
  for (const std::uint64_t lane : ready_lanes_) count += lanes_.at(lane).size();
  return count;
}

/// Delivers only completions that are ready now, because a program that always asks for more must
/// not keep the turn going. Some turns end early, so that the completions of a turn differ from run
/// to run.
void process::deliver_ready(worker& w) {
  for (std::size_t count = ready_completions(); count != 0 && !ready_lanes_.empty(); --count) {
    deliver_one(w, chance.below(ready_lanes_.size()));
    if (chance.chance(1.0 / 16)) break;
  }
}

}  // namespace heddle::sim
