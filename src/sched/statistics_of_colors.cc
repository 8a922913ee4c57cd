// SPDX-License-Identifier: MIT
// Counts of workers and colors, and the plain frames that a dump lists.
#include "sched/inspection.hh"

namespace heddle {

std::vector<worker_statistics> inspection::read_workers() {
  std::vector<worker_statistics> all;
  for (const auto& s : all_.seats) {
    all.push_back({.number = s->w.index,
                   .waiting = s->queue.size(),
                   .frames = s->w.frames_run,
                   .turns = s->count.turns,
                   .steals = s->count.steals,
                   .parks = s->count.parks,
                   .wakes = s->count.wakes,
                   .messages = s->count.messages});
  }
  return all;
}

std::vector<color_statistics> inspection::read_colors() {
  std::vector<color_statistics> all;
  all_.while_all_stand_still(nanoseconds::max(), [&](bool) {
    colors_.each([&](const color_record& r) { all.push_back(statistics_of(r)); });
  });
  return all;
}

color_statistics inspection::statistics_of(const color_record& r) const {
  color_statistics c;
  c.number = color(r.place_);
  c.worker = r.last_worker == 0 ? 0 : r.last_worker - 1U;
  for (link l = r.waiting.first; l != no_link; l = next_of(l)) ++c.waiting;
  c.turns = r.turns;
  c.frames = r.frames;
  c.moves = r.moves;
  c.run = r.run;
  c.waited = r.waited;
  c.waited_most = r.waited_most;
  c.longest = r.longest;
  return c;
}

void inspection::adopt(frame& f) {
  const std::lock_guard hold(plain_lock_);
  plain_frames_.insert(&f);
}

void inspection::release(frame& f) noexcept {
  const std::lock_guard hold(plain_lock_);
  plain_frames_.erase(&f);
}

bool inspection::has(frame& f) {
  const std::lock_guard hold(plain_lock_);
  return plain_frames_.contains(&f);
}

std::vector<frame*> inspection::plain_frames() {
  const std::lock_guard hold(plain_lock_);
  return {plain_frames_.begin(), plain_frames_.end()};
}

void inspection::describe(wait_table table) {
  const std::lock_guard hold(plain_lock_);
  wait_tables_.push_back(table);
}

}  // namespace heddle
