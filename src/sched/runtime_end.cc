// SPDX-License-Identifier: MIT
// The end of a runtime: which thread may end it, cancelling its tasks and waiting for them, and
// giving its memory back.
#include <algorithm>

#include "sched/end_of_tasks.hh"
#include "sched/run_guard.hh"

namespace heddle {

/// Aborts with the rule that is broken if this thread may not run, drain or destroy the runtime.
void runtime::check_use(const char* what) const noexcept {
  const worker* const here = worker::current();
  const auto broken = [what](const char* where, const char* help) {
    const std::string text = std::string("a runtime is ") + what + " " + where;
    detail::assertion_failed(text.c_str(), help, "heddle::runtime", 0);
  };
  if (here == nullptr)
    broken(
        "on the thread that built it, while it is the thread's latest one",
        "this thread has no runtime: build, run and destroy a runtime on one thread, and destroy "
        "the runtimes of one thread in the opposite order of their construction");
  if (&here->sched != this)
    broken("while it is its thread's latest one",
           "this thread's latest runtime is another one: destroy the runtimes of one thread in the "
           "opposite order of their construction (a vector destroys its elements from the front), "
           "and use an earlier one only after the later ones are gone");
  if (turns_ || here != &parts_->workers.first().w)
    broken(
        "from outside of its own tasks and calls",
        "let the task end, or call runtime::stop(); then run() returns, and the code that called "
        "it may use or destroy the runtime");
}

/// Takes back the cancellation of each root whose tasks have all ended. Gives the number of tasks
/// that have not ended. The workers are stopped.
std::size_t runtime::reopen_roots() {
  std::size_t left = 0;
  parts_->colors.each([&left](const color_record& r) {
    left += r.root->live();
    if (r.root->live() == 0) r.root->context_of_tasks().reopen();
  });
  roots_canceled_ = left != 0;
  return left;
}

/// Cancels every root, wherever its color is. The workers are stopped.
void runtime::cancel_roots() {
  worker& w = main_worker();
  roots_canceled_ = true;
  parts_->colors.draining = true;
  region_.open_reserve();  // a program may end because its memory is full
  parts_->colors.each([&](const color_record& r) {
    send_message(w, r.place_,
                 [root = r.root] { root->context_of_tasks().cancel(worker::running()); });
  });
}

runtime::end_of_tasks::end_of_tasks(runtime& rt)
    : rt_(rt), end_(add_saturated(rt.io().now(), rt.options_.drain_timeout)) {
  rt.cancel_roots();
  rt.arm(rt.main_worker(), alarm_, end_);
}

bool runtime::end_of_tasks::has_tasks() const noexcept {
  runtime_parts& parts = *rt_.parts_;
  seat& first = parts.workers.first();
  // A color that stays held between two turns is counted only when it is left.
  if (first.held != nullptr) parts.colors.count_root(*first.held);
  const worker& w = first.w;
  return parts.colors.live_roots() != 0 ||
         (w.root_scope != nullptr && w.color != no_color && w.root_scope->live() != 0);
}

bool runtime::end_of_tasks::is_busy() noexcept {
  runtime_parts& parts = *rt_.parts_;
  worker_set& all = parts.workers;
  seat& first = all.first();
  if (has_tasks()) {
    tasks_ended_ = false;
    return true;
  }
  std::uint64_t fired = first.preblocks;
  bool preblock_waits = !first.preblock.empty();
  for (std::size_t i = 1; all.simulated && i != all.size(); ++i) {
    fired += all.seats[i]->preblocks;
    preblock_waits = preblock_waits || !all.seats[i]->preblock.empty();
  }
  if (!std::exchange(tasks_ended_, true)) {
    calls_ = parts.posted.posted();
    preblocks_ = fired;
  }
  if (!parts.posted.brought(calls_) || !first.w.ready.empty()) return true;
  if (all.shared && first.has_work()) return true;
  if (preblock_waits && fired == preblocks_) return true;
  if (first.io->pending() > 0 || first.cancels != nullptr || first.kept_completions != nullptr)
    return true;
  for (const auto& s : all.seats) {
    if (!s->queue.empty()) return true;
    if (all.simulated && s->kept_completions != nullptr) return true;
    if (s->w.index != 0 && all.shared && !all.simulated &&
        (!is_parked(s->queue.spot.state()) || s->pending.load(std::memory_order_relaxed) != 0 ||
         worker_parking::sleep_of(*s) == 0))
      return true;
  }
  return false;
}

std::size_t runtime::drain() {
  event_loop& loop = parts_->loop;
  const run_guard inside(*this, __builtin_frame_address(0), "drained");
  worker& w = main_worker();
  end_of_tasks ending(*this);
  for (frame* f : parts_->look.plain_frames()) {
    send_message(w, w.context_at(f->context).color, [this, f] {
      if (!parts_->look.has(*f)) return;  // the frame has finished meanwhile
      f->at |= HEDDLE_AT_CANCELED;
      if ((f->at & HEDDLE_AT_QUEUED) != 0) return;
      f->at |= HEDDLE_AT_QUEUED;
      worker::running().post(link_of(*f));
    });
  }
  loop.begin_world();
  while (ending.is_busy()) {
    if (!ending.in_time()) break;
    if (!loop.turn(true)) break;
  }
  loop.end_world();
  return ending.finish();
}

runtime::~runtime() {
  check_use("destroyed");
  std::size_t left = drain();
  worker_set& all = parts_->workers;
  parts_->look.stop_listening();
  for (const auto& s : all.seats) s->preblock.clear();
  parts_->posted.drop();
  all.pause.leave();
  for (const auto& s : all.seats)
    if (s->thread.joinable()) s->thread.join();
  seat& main = all.first();
  if (main.held != nullptr) parts_->colors.leave(main);
  // Free the roots on this thread. Their cells go back to the workers that allocated them.
  std::size_t roots = 0;
  parts_->colors.each([&](color_record& r) {
    main.w.guards = r.guards;
    detail::free_guards(main.w);
    if (left != 0) {
      ++roots;
      return;
    }
    std::destroy_at(r.root);
    main.w.memory.release(r.root, sizeof(scope));
  });
  std::size_t cells = 0;
  main.w.memory.collect_remote();
  for (const auto& s : all.seats) s->w.memory.collect_remote();
  for (const auto& s : all.seats) {
    s->w.memory.collect_remote();
    cells += s->w.memory.live();
  }
  cells -= 2 * roots;  // each root has a scope and a context
  if (cells != 0 || left != 0) {
    const bool negative = static_cast<std::ptrdiff_t>(cells) < 0;
    report({negative ? diagnostic_kind::freed_twice : diagnostic_kind::leaked_memory,
            0,
            0,
            negative ? -cells : cells,
            {},
            {}});
    region_.abandon();  // pointers into the region that are left must not fault
  } else {
    parts_->colors.all_ended = true;
  }
  parts_->printer.end();
  for (const auto& s : all.seats) s->w.io = nullptr;
  for (const auto& s : all.seats) s->own.reset();
  heddle_current_worker = outer_worker_;
}

}  // namespace heddle
