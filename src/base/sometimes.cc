// SPDX-License-Identifier: MIT
// The list of all marks of the program.
#include "heddle/base/sometimes.hh"

#include <algorithm>
#include <tuple>

namespace heddle {

namespace {

constinit std::atomic<detail::mark*> first_mark{nullptr};

}  // namespace

bool detail::mark::enter() noexcept {
  next_ = first_mark.load(std::memory_order_relaxed);
  while (!first_mark.compare_exchange_weak(next_, this, std::memory_order_release)) {
  }
  return true;
}

std::vector<mark_count> marks() {
  std::vector<mark_count> all;
  for (const detail::mark* m = first_mark.load(std::memory_order_acquire); m != nullptr;
       m = m->next_)
    all.push_back({m->text_, m->file_, m->line_, m->reached_.load(std::memory_order_relaxed)});
  std::ranges::sort(all, [](const mark_count& a, const mark_count& b) {
    return std::tie(a.file, a.line, a.text) < std::tie(b.file, b.line, b.text);
  });
  return all;
}

}  // namespace heddle
