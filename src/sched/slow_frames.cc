// SPDX-License-Identifier: MIT
// Frames that run for too long: with runtime_options::slow_handler each frame is timed, and the
// line where it went on, with who awaited it, is kept from before it runs: afterwards it may be
// gone.
#include <array>

#include "heddle/core/join.hh"
#include "sched/color_runner.hh"

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

}  // namespace

std::size_t color_runner::run_watched(seat& s, std::size_t limit) noexcept {
  std::size_t ran = 0;
  time_point begin = s.io->now();
  for (; ran != limit && !s.w.ready.empty(); ++ran) {
    const link first = s.w.ready.first();
    const trail lines(!is_plain(first) && promise_of(first).context_low != 0 ? first : no_link);
    s.w.run_ready(1, s.went_on_at);
    const time_point end = s.io->now();
    if (end - begin > all_.options.slow_handler)
      report_slow(s, {lines.lines.data(), lines.depth}, end - begin);
    begin = end;
  }
  return ran;
}

void color_runner::report_slow(seat& s, std::span<const site> stack, nanoseconds took) noexcept {
  const site line = stack.empty() ? 0 : stack.front();
  const time_point now = s.io->now();
  auto& seen = s.slow_reports;
  for (auto& [where, when] : seen) {
    if (where != line) continue;
    if (now - when < report_pause) return;
    when = now;
    s.w.sched.report({diagnostic_kind::slow_handler, line, 0, 1, {}, stack, took});
    return;
  }
  if (seen.size() == lines_max) seen.erase(seen.begin());
  seen.emplace_back(line, now);
  s.w.sched.report({diagnostic_kind::slow_handler, line, 0, 1, {}, stack, took});
}

}  // namespace heddle
