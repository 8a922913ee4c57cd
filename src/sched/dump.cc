// SPDX-License-Identifier: MIT
// Where everything waits, also while some workers run: their colors are left out, and each of them
// appears as a task that runs.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "heddle/core/detail/plain_wait.hh"
#include "sched/dump_sections.hh"
#include "sched/inspection.hh"

namespace heddle {
namespace {

/// How long a dump waits for a worker to come to the end of its frame.
constexpr nanoseconds frame_patience = std::chrono::milliseconds(250);

void write_to_stderr(std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t sent = ::write(STDERR_FILENO, text.data(), text.size());
    if (sent > 0) {
      text.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    // The descriptor is a full terminal or pipe that does not block: its reader gets a second.
    pollfd full{STDERR_FILENO, POLLOUT, 0};
    if (sent < 0 && errno == EINTR) continue;
    if (sent == 0 || errno != EAGAIN || ::poll(&full, 1, 1000) <= 0) return;
  }
}

}  // namespace

/// Collects the suspended tasks. False: that was not possible, because the program ends.
bool inspection::walk(std::vector<suspended_task>& found) {
  return all_.while_all_stand_still(frame_patience, [&](bool all) {
    if (all) {
      found = walk_all(nullptr);
      dump_sections::read(of_, nullptr);
    } else {
      const quiet_colors quiet(all_, colors_);
      found = walk_all(&quiet);
      dump_sections::read(of_, &quiet.by_place());
    }
  });
}

std::vector<suspended_task> inspection::walk_all(const quiet_colors* quiet) {
  worker& w = worker::here();
  wait_walk walk(w.memory, quiet == nullptr ? nullptr : &quiet->by_place());
  const auto is_quiet = [&](std::uint32_t place) {
    return quiet == nullptr || quiet->by_place()[place];
  };
  const auto runs = [&](const seat& s) {
    return quiet != nullptr &&
           std::find(quiet->moving().begin(), quiet->moving().end(), &s) != quiet->moving().end();
  };
  const auto ready = [&](link queued) {
    const link l = detail::coroutine_behind(queued);
    if (!is_plain(l) && promise_of(l).context_low != 0)
      walk.add_ready(l, w.context_at(promise_of(l).context_low));
  };
  const time_point now = w.io->now();
  for (const auto& s : all_.seats) {
    if (!runs(*s)) {
      s->w.all_ready().each(ready);
      continue;
    }
    const color_record* const r = s->in_hand.load(std::memory_order_acquire);
    if (r == nullptr) continue;  // the worker is between two colors
    const time_point since(nanoseconds(s->round_at.load(std::memory_order_relaxed)));
    walk.add_running(s->went_on_at.load(std::memory_order_relaxed), colors_.place_of(*r),
                     now - since);
  }
  colors_.each([&](color_record& each) {
    color_record* const r = &each;
    if (!is_quiet(colors_.place_of(*r))) return;
    for (link l = r->waiting.first; l != no_link; l = next_of(l)) ready(l);
    for (link l = r->inbox.newest(); l != no_link; l = next_of(l)) {
      ready(l);
      if (decltype(r->inbox)::ends_chain(next_of(l))) break;
    }
    walk.add_below(r->root->context_of_tasks(), w.now);
  });
  {
    const std::lock_guard hold(plain_lock_);
    for (const frame* f : plain_frames_)
      if (is_quiet(w.context_at(f->context).color)) walk.add_plain(*f, wait_tables_);
  }
  return std::move(walk).finish();
}

std::vector<suspended_task> inspection::suspended() {
  std::vector<suspended_task> found;
  static_cast<void>(walk(found));
  return found;
}

/// Thread: a signal handler's.
void inspection::ask_for_dump() noexcept {
  asked_.store(true);
  posted_.look_again();  // the first worker reads that flag anyway
  for (const auto& s : all_.seats) s->io->wake();
}

void inspection::write_dump() noexcept {
  if (!asked_.exchange(false)) return;
  try {
    std::vector<suspended_task> found;
    const dump_sections sections(of_);
    if (!walk(found)) {  // the program ends: end_world() writes
      asked_.store(true);
      return;
    }
    signal_->answered();
    std::string text = "heddle: process " + std::to_string(::getpid()) + ", ";
    text +=
        std::to_string(all_.seats.size()) + (all_.seats.size() == 1 ? " worker, " : " workers, ");
    write_to_stderr(text + all_.first().io->name() + ": " + dump_text(found) + sections.text());
  } catch (const std::exception& e) {
    write_to_stderr("heddle: no dump is possible: ");
    write_to_stderr(std::string_view(e.what()));
    write_to_stderr("\n");
  }
}

std::string inspection::dump() {
  const dump_sections sections(of_);
  const std::vector<suspended_task> found = suspended();  // reads the sections, too
  return dump_text(found) + sections.text();
}

std::string inspection::dump_json() {
  const dump_sections sections(of_);
  std::string json = heddle::dump_json(suspended());
  json.insert(json.size() - 1, sections.json_members());
  return json;
}

}  // namespace heddle
