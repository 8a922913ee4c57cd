// SPDX-License-Identifier: MIT
// Frames that run for too long: with runtime_options::slow_handler each frame is timed. The line
// where it goes on and the lines that await it are kept from before it runs, because the frame may
// be gone afterwards. A server says which handler it calls (sched/handler_time.hh).
#include <array>
#include <string>

#include "heddle/core/detail/join.hh"
#include "heddle/core/detail/plain_wait.hh"
#include "heddle/sched/detail/handler_time.hh"
#include "sched/color_runner.hh"
#include "sched/handler_watch.hh"

namespace heddle {
namespace {

constexpr nanoseconds report_pause = std::chrono::seconds(1);  // between reports of one line
constexpr std::size_t lines_max = 64;  // lines whose last report is remembered

struct trail {
  static constexpr std::size_t depth_max = 16;
  std::array<site, depth_max> lines{};
  std::size_t depth = 0;

  explicit trail(link l) noexcept {
    while (l != no_link && !is_plain(l) && depth != depth_max) {
      const promise_base& p = promise_of(l);
      lines[depth++] = p.at;
      const join* const owner = p.parent();
      if (owner == nullptr || owner->done != nullptr) return;
      l = link_of(owner->waiter);
    }
  }
};

/// The watch of the frame that this thread runs.
thread_local handler_watch* watch_here = nullptr;

time_point now_here() noexcept { return worker::here().sched.read_clock(); }

}  // namespace

// Not inlined into a coroutine, which may go on in another thread: they are in this file.
void detail::handler_begins(const callee& what) noexcept {
  if (watch_here != nullptr) watch_here->begin(what, now_here());
}

void detail::handler_ends() noexcept {
  if (watch_here != nullptr) watch_here->end(now_here());
}

std::size_t color_runner::run_watched(seat& s, std::size_t limit) noexcept {
  std::size_t ran = 0;
  time_point begin = s.io->now();
  for (; ran != limit && !s.w.ready.empty(); ++ran) {
    const link first = detail::coroutine_behind(s.w.ready.first());
    const trail lines(!is_plain(first) && promise_of(first).context_low != 0 ? first : no_link);
    handler_watch watch;
    watch_here = &watch;
    s.w.run_ready(1, s.went_on_at);
    watch_here = nullptr;
    const time_point end = s.io->now();
    watch.end(end);
    if (end - begin > all_.options.slow_handler)
      report_slow(s, {lines.lines.data(), lines.depth}, end - begin, watch);
    begin = end;
  }
  return ran;
}

/// Whether this line may be reported now. Remembers it.
bool color_runner::is_slow_report_due(seat& s, site line) noexcept {
  const time_point now = s.io->now();
  auto& seen = s.slow_reports;
  for (auto& [where, when] : seen) {
    if (where != line) continue;
    if (now - when < report_pause) return false;
    when = now;
    return true;
  }
  if (seen.size() == lines_max) seen.erase(seen.begin());
  seen.emplace_back(line, now);
  return true;
}

void color_runner::report_slow(seat& s, std::span<const site> stack, nanoseconds took,
                               const handler_watch& watch) noexcept {
  diagnostic d{.kind = diagnostic_kind::slow_handler, .stack = stack, .took = took};
  d.made = stack.empty() ? 0 : stack.front();
  std::string name;
  if (watch.most() > took / 2) {  // else the time was spent elsewhere, or in several handlers
    name = watch.longest().name();
    d.object = name.c_str();
    d.object_made = watch.longest().given;
  }
  if (is_slow_report_due(s, d.object_made != 0 ? d.object_made : d.made)) s.w.sched.report(d);
}

}  // namespace heddle
