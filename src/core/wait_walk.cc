// SPDX-License-Identifier: MIT
// Finds which task waits for which, by looking for handles of events in frames.
#include "heddle/core/detail/wait_walk.hh"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "heddle/core/detail/plain_wait.hh"
#include "heddle/core/enter.hh"
#include "heddle/core/rendezvous.hh"
#include "heddle/core/scope.hh"

namespace heddle {
namespace {

/// Calls f for the frame and for the frames that await it, as far as they are functions of one
/// task.
template <class F>
void each_frame(link l, F&& f) {
  for (std::size_t depth = 0; l != no_link && !is_plain(l) && depth < chain_max; ++depth) {
    f(l);
    const join* const owner = promise_of(l).parent();
    if (owner == nullptr || (owner->done != nullptr && !detail::is_taken_over(*owner))) break;
    if (!owner->waiter) break;
    l = link_of(owner->waiter);
  }
}

/// Adapters await the program's awaitables in functions of their own, which are in these
/// headers, and scope::spawn(color, task) in one of ours.
bool is_adapter_file(std::string_view file) {
  static const std::string_view here = __FILE__;
  static const std::string scopes = std::string(here.substr(0, here.rfind('/') + 1)) + "scope.cc";
  if (file == scopes) return true;
  if (!file.ends_with(".hh")) return false;
  const std::size_t at = std::min(file.rfind("heddle/core/"), file.rfind("heddle/sync/"));
  return at != file.npos && (at == 0 || file[at - 1] == '/');
}

}  // namespace

bool wait_walk::is_of_adapter(site s) {
  const auto [found, is_new] = of_adapters_.try_emplace(s, false);
  if (is_new) found->second = is_adapter_file(resolve_site(s).file);
  return found->second;
}

/// The program's lines, without those of adapters. A branch of an adapter is awaited by the joiner
/// of its scope; if there is none, the line that opened the context around is given instead.
std::vector<site> wait_walk::chain_of(link l, const context& around) {
  std::vector<site> lines;
  bool of_program = false;
  while (l != no_link && lines.size() < chain_max) {
    link last = l;
    each_frame(l, [&](link each) {
      last = each;
      lines.push_back(promise_of(each).at);
      of_program = of_program || !is_of_adapter(lines.back());
    });
    const join* const owner = of_program ? nullptr : promise_of(last).parent();
    const bool goes_on =
        owner != nullptr && scope::serves_many(*owner) && is_quiet(scope::context_of(*owner));
    l = goes_on ? scope::joined_by(*owner) : no_link;
    if (is_plain(l)) l = no_link;
  }
  for (const context* c = &around; c != nullptr && !of_program; c = c->parent()) {
    of_program = c->opened_at != 0 && !is_of_adapter(c->opened_at);
    if (of_program) lines.push_back(c->opened_at);
  }
  if (of_program) std::erase_if(lines, [&](site s) { return is_of_adapter(s); });
  return lines;
}

void wait_walk::add_below(context& root, time_point now) {
  root.waits().each([&](wait& x) {
    const link by = detail::coroutine_behind(x.frame);
    if (is_plain(by)) {
      tasks_.push_back({x.kind->name, {}, now - x.since, root.color, root.trace_id, {}});
      name_thread(plain_of(by), tasks_.back());
      return;
    }
    if (x.kind == &detail::event_set::waiter::kind)
      // A function with a deadline will go on.
      waiting_.push_back({tasks_.size(), static_cast<detail::event_set::waiter&>(x).set, by,
                          root.deadline() == never});
    tasks_.push_back(
        {x.kind->name, chain_of(by, root), now - x.since, root.color, root.trace_id, {}});
  });
  root.children().each([&](context& child) {
    // The part of a function that runs in another color belongs to that color's walk.
    if (child.visiting == nullptr || is_quiet(child)) add_below(child, now);
  });
}

/// Names the wait of a thread of compiled code, which knows its own table of waits.
void wait_walk::name_thread(const frame& frame_or_arm, suspended_task& task) {
  task.plain_at = "plain frame";
  const frame& f = detail::owner_of_arm(frame_or_arm);
  if ((f.at & HEDDLE_AT_THREAD) == 0) return;
  const heddle_thread_kind& kind = *reinterpret_cast<const heddle_thread&>(f).kind;
  const std::uint32_t number = HEDDLE_AT_NUMBER(f.at);
  if (number >= kind.line_count) return;
  const heddle_wait_line& line = kind.lines[number];
  task.state = line.what;
  task.plain_at = std::string(line.file) + ":" + std::to_string(line.line);
}

void wait_walk::add_ready(link l, const context& c) {
  tasks_.push_back({"ready", chain_of(l, c), {}, c.color, c.trace_id, {}});
}

void wait_walk::add_running(site went_on_at, std::uint32_t color, nanoseconds for_long) {
  tasks_.push_back({suspended_task::runs, {went_on_at}, for_long, color, 0, {}});
}

void wait_walk::add_plain(const frame& f, const std::vector<wait_table>& tables) {
  suspended_task task;
  task.state = (f.at & HEDDLE_AT_QUEUED) != 0 ? "ready" : "plain";
  task.color = f.context == 0 ? 0 : worker::here().context_at(f.context).color;
  const std::uint32_t number = HEDDLE_AT_NUMBER(f.at);
  for (const wait_table& table : tables) {
    if (table.resume != f.resume || number >= table.count) continue;
    const heddle_wait_line& line = table.lines[number];
    if ((f.at & HEDDLE_AT_QUEUED) == 0) task.state = line.what;
    task.plain_at = std::string(line.file) + ":" + std::to_string(line.line);
  }
  tasks_.push_back(std::move(task));
}

void wait_walk::note_events() {
  for (std::size_t i = 0; i != waiting_.size(); ++i) {
    if (waiting_[i].set == nullptr) {  // the set has ended: the task is about to run
      waiting_[i].stuck = false;
      continue;
    }
    suspended_task& task = tasks_[waiting_[i].task];
    waiting_[i].set->expected().each([&](const event_record& r) {
      const std::size_t handles = r.handles + r.handles_afar.load(std::memory_order_relaxed);
      events_[&r] = {i, handles};
      if (is_of_adapter(r.made) || task.events++ != 0) return;
      task.expects = r.made;
      task.handles = handles;
    });
  }
}

void wait_walk::look_through_frames(std::size_t holder) {
  each_frame(waiting_[holder].innermost, [&](link l) {
    const std::span<const std::byte> cell = memory_.cell_around(reinterpret_cast<void*>(l));
    for (std::size_t at = 0; at + sizeof(void*) <= cell.size(); at += sizeof(void*)) {
      const void* word;
      std::memcpy(&word, cell.data() + at, sizeof word);
      if (!memory_.home().contains(word)) continue;
      const auto found = events_.find(word);
      if (found == events_.end()) continue;
      // A set refers to its own events at both ends of its list; those are no handles.
      const detail::event_set* const set = waiting_[found->second.waits].set;
      if (set->expected().is_end(cell.data() + at)) continue;
      // The function that waits for an event usually made it, and made the first handle in its
      // frame: that word is there still when the handle has long been moved elsewhere.
      if (found->second.waits == holder) continue;
      found->second.held_by.push_back(holder);
    }
  });
}

bool wait_walk::is_stuck(const waiting& x) const {
  bool any = false, all = true;
  x.set->expected().each([&](const event_record& r) {
    const expected_event& e = events_.at(&r);
    const auto found = static_cast<std::size_t>(std::count_if(
        e.held_by.begin(), e.held_by.end(), [&](std::size_t by) { return waiting_[by].stuck; }));
    const bool out_of_reach = e.handles != 0 && found >= e.handles;
    any = any || out_of_reach;
    all = all && out_of_reach;
  });
  return x.set->needs_all() ? any : any && all;
}

std::vector<suspended_task> wait_walk::finish() && {
  note_events();
  if (events_.empty()) return std::move(tasks_);
  for (std::size_t i = 0; i != waiting_.size(); ++i) look_through_frames(i);
  for (bool changed = true; std::exchange(changed, false);)
    for (waiting& x : waiting_)
      if (x.stuck && !is_stuck(x)) {
        x.stuck = false;
        changed = true;
      }
  for (const waiting& x : waiting_) {
    if (!x.stuck) continue;
    suspended_task& task = tasks_[x.task];
    x.set->expected().each([&](const event_record& r) {
      for (const std::size_t by : events_.at(&r).held_by) {
        if (task.behind != suspended_task::nobody || !waiting_[by].stuck) continue;
        task.behind = waiting_[by].task;
        task.expects = r.made;
        task.handles = events_.at(&r).handles;
      }
    });
  }
  return std::move(tasks_);
}

}  // namespace heddle
