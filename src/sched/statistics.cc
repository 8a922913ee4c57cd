// SPDX-License-Identifier: MIT
// Tables and JSON of the counts of workers and colors.
#include "heddle/sched/statistics.hh"

#include <algorithm>
#include <cstdio>

namespace heddle {
namespace {

template <class... Args>
std::string line(const char* format, Args... args) {
  char text[200];
  std::snprintf(text, sizeof text, format, args...);
  return text;
}

double us(nanoseconds span) { return static_cast<double>(span.count()) / 1e3; }
unsigned long long big(std::uint64_t n) { return n; }

}  // namespace

std::string to_text(const std::vector<worker_statistics>& workers) {
  std::string text =
      "worker  waiting     frames      turns     steals      parks      wakes   messages\n";
  for (const worker_statistics& w : workers)
    text += line("%6u  %7u %10llu %10llu %10llu %10llu %10llu %10llu\n", w.number, w.waiting,
                 big(w.frames), big(w.turns), big(w.steals), big(w.parks), big(w.wakes),
                 big(w.messages));
  return text;
}

std::string to_text(std::vector<color_statistics> colors, std::size_t rows_max) {
  std::sort(colors.begin(), colors.end(), [](const auto& a, const auto& b) {
    return a.run != b.run         ? a.run > b.run
           : a.frames != b.frames ? a.frames > b.frames
                                  : a.number.number < b.number.number;
  });
  std::string text =
      " color  worker  waiting     frames      turns    moves   run us   wait us  most us  longest "
      "us\n";
  for (std::size_t i = 0; i != std::min(colors.size(), rows_max); ++i) {
    const color_statistics& c = colors[i];
    text += line("%6llu  %6u  %7u %10llu %10llu %8llu %8.0f  %8.0f %8.1f  %10.1f\n",
                 big(c.number.number), c.worker, c.waiting, big(c.frames), big(c.turns),
                 big(c.moves), us(c.run), us(c.waited), us(c.waited_most), us(c.longest));
  }
  if (colors.size() > rows_max)
    text += line("... and %llu colors more\n", big(colors.size() - rows_max));
  return text;
}

std::string to_json(const std::vector<worker_statistics>& workers,
                    const std::vector<color_statistics>& colors) {
  std::string json = "{\"schema\":1,\"workers\":[";
  for (const worker_statistics& w : workers)
    json += line("%s{\"worker\":%u,\"waiting\":%u,\"frames\":%llu,\"turns\":%llu,\"steals\":%llu,",
                 &w == workers.data() ? "" : ",", w.number, w.waiting, big(w.frames), big(w.turns),
                 big(w.steals)) +
            line("\"parks\":%llu,\"wakes\":%llu,\"messages\":%llu}", big(w.parks), big(w.wakes),
                 big(w.messages));
  json += "],\"colors\":[";
  for (const color_statistics& c : colors)
    json += line("%s{\"color\":%llu,\"worker\":%u,\"waiting\":%u,\"turns\":%llu,\"frames\":%llu,",
                 &c == colors.data() ? "" : ",", big(c.number.number), c.worker, c.waiting,
                 big(c.turns), big(c.frames)) +
            line("\"moves\":%llu,\"run_ns\":%lld,\"waited_ns\":%lld,\"waited_most_ns\":%lld,",
                 big(c.moves), static_cast<long long>(c.run.count()),
                 static_cast<long long>(c.waited.count()),
                 static_cast<long long>(c.waited_most.count())) +
            line("\"longest_ns\":%lld}", static_cast<long long>(c.longest.count()));
  return json + "]}";
}

}  // namespace heddle
