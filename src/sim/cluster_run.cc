// SPDX-License-Identifier: MIT
// The loop of a cluster: of all nodes with something to do it draws one, has it make a turn, and
// draws again; when no node has anything to do, time jumps to the next event or timer. Processes
// that were killed, or whose program has ended, are unwound between two turns.
#include <algorithm>
#include <utility>

#include "heddle/base/error.hh"
#include "heddle/sim/cluster.hh"
#include "sim/current_worker.hh"
#include "sim/process.hh"
#include "sim/running_world.hh"
#include "sim/unwind_watch.hh"

namespace heddle::sim {

namespace {

// On the clock of a process that has ended. Its time costs nothing: only turns are limited.
constexpr nanoseconds unwind_time_max = std::chrono::hours(1);

}  // namespace

task<> node::run_program(node& n) {
  std::string error;
  int result = 0;
  try {
    result = co_await n.options_.program(n);
  } catch (const std::exception& e) {
    error = std::string("its program threw: ") + e.what();
  } catch (...) {
    error = "its program threw something that is no std::exception";
  }
  process& own = *n.place_.last;
  if (own.is_cut()) co_return;
  if (error.empty())
    n.result_ = result;
  else
    n.home_.fail(n, error);
  own.cut(death::process);
}

void cluster::fail(const node& n, const std::string& what) {
  if (failed_.empty()) failed_ = n.name() + ": " + what;
}

void cluster::start(node& n) {
  n.start_asked_ = false;
  n.result_.reset();
  ++n.starts_;
  runtime_options options = n.options_.runtime;
  options.memory_bytes = n.options_.memory_bytes;
  options.workers = 1;
  options.dump_signal = 0;
  options.ignore_sigpipe = false;
  options.drivers = nullptr;
  options.drain_timeout = unwind_time_max;
  world_->record(trace_kind::start, n.place_.number, n.starts_ - 1);
  std::unique_ptr<sim_driver> driver(new sim_driver(world_, n.place_));
  n.driver_ = driver.get();
  const current_worker none(nullptr);  // the runtime makes itself the current one
  n.runtime_ = std::make_unique<heddle::runtime>(std::move(driver), std::move(options));
  n.runtime_->spawn(node::run_program(n));
  n.busy_ = true;
}

/// Has the tasks of a process that was cut off end, and gives its memory back.
void cluster::bury(node& n) {
  if (n.runtime_ == nullptr) return;
  const current_worker now(&n.runtime_->main_worker());
  process& ended = *n.place_.last;
  unwinding_ = true;
  const unwind_watch watch(n.name());
  ended.unwind();
  const std::size_t left = n.runtime_->drain();
  if (left != 0)
    fail(n, std::to_string(left) + (left == 1 ? " task has" : " tasks have") +
                " not ended after the end of the process, in " +
                std::to_string(ended.turns_apart()) + " turns\n" + n.runtime_->dump());
  n.runtime_.reset();
  unwinding_ = false;
  n.driver_ = nullptr;
  n.busy_ = false;
  ended.release();
}

void cluster::bury_and_start() {
  for (std::size_t i = 0; i != nodes_.size(); ++i) {  // a program may add nodes
    node& n = *nodes_[i];
    if (n.driver_ != nullptr && !n.running()) bury(n);
    if (n.driver_ == nullptr && n.start_asked_) start(n);
  }
}

void cluster::step(node& n) {
  const current_worker now(&n.runtime_->main_worker());
  n.busy_ = n.runtime_->once() || !n.runtime_->main_worker().idle();
}

bool cluster::finished() const noexcept {
  const bool services_only =
      std::all_of(nodes_.begin(), nodes_.end(), [](const auto& n) { return n->options_.service; });
  return !services_only && std::all_of(nodes_.begin(), nodes_.end(), [](const auto& n) {
    return n->options_.service || (!n->running() && !n->start_asked_ && n->result_);
  });
}

bool cluster::is_ready(node& n) const noexcept {
  if (!n.running() || n.paused_until_ > world_->time()) return false;
  return n.busy_ || n.place_.last->has_work() ||
         n.runtime_->next_wake() <= n.place_.clock.shown_at(world_->time());
}

time_point cluster::next_time() const noexcept {
  time_point next = world_->next_event();
  for (const auto& n : nodes_)
    if (n->running() && n->paused_until_ <= world_->time())
      next = std::min(next, n->place_.clock.when_shown(n->runtime_->next_wake()));
  return next;
}

std::string cluster::where_all_wait() {
  std::string all;
  const time_point before = world_->time();
  for (const auto& n : nodes_) {
    if (n->runtime_ == nullptr) {
      all += n->name() + (n->result_ ? ": has ended\n" : ": was killed, and not started again\n");
      continue;
    }
    const current_worker now(&n->runtime_->main_worker());
    all += n->name() + (n->paused_until_ > world_->time() ? ", which is paused:\n" : ":\n") +
           n->runtime_->dump();
  }
  world_->restore_time(before);
  return all;
}

outcome cluster::run(nanoseconds longest) {
  using kind = outcome::kind;
  if (longest.count() < 0)
    throw failure(std::make_error_code(std::errc::invalid_argument), "run: a time is not negative");
  const time_point last = add_saturated(world_->time(), longest);
  if (last - options_.world.start > options_.time_max)
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "the run may last longer than cluster_options::time_max (" +
                      std::to_string(options_.time_max.count() / 1'000'000'000) + " s)");
  const running_world here(*world_);
  if (!std::exchange(prepared_, true)) draw_troubles();
  std::vector<node*> ready;
  for (;;) {
    world_->settle();
    world_->run_due();
    bury_and_start();
    if (!failed_.empty()) return {kind::failed, failed_};
    if (finished()) return {};
    if (world_->time() >= last)
      return {kind::time_over, "programs still run after " +
                                   std::to_string(longest.count() / 1'000'000) + " ms\n" +
                                   where_all_wait()};
    ready.clear();
    for (const auto& n : nodes_)
      if (is_ready(*n)) ready.push_back(n.get());
    if (!ready.empty()) {
      if (turns_ == options_.turns_max)
        return {kind::too_many_turns, "the nodes have made cluster_options::turns_max turns"};
      ++turns_;
      step(*ready[world_->chance.below(ready.size())]);
      continue;
    }
    const time_point next = next_time();
    if (next == never)
      return {kind::nothing_left, "nothing can happen any more\n" + where_all_wait()};
    world_->jump(std::min(next, last));
  }
}

}  // namespace heddle::sim
