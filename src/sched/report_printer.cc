// SPDX-License-Identifier: MIT
// Counts reports by kind and line.
#include "sched/report_printer.hh"

#include <algorithm>
#include <cstdio>
#include <string>

namespace heddle {
namespace {

/// The line that a report is about.
site line_of(const diagnostic& d) { return d.made != 0 ? d.made : d.object_made; }

}  // namespace

report_printer::entry& report_printer::entry_of(const diagnostic& d) {
  const auto found = std::ranges::find_if(
      entries_, [&](const entry& e) { return e.kind == d.kind && e.made == line_of(d); });
  if (found != entries_.end()) return *found;
  if (entries_.size() == entries_max) {
    const auto oldest = std::ranges::min_element(entries_, {}, &entry::printed);
    left_out_elsewhere_ += oldest->left_out;
    entries_.erase(oldest);
  }
  return entries_.emplace_back(d.kind, line_of(d), time_point());
}

void report_printer::print(const diagnostic& d, time_point now) {
  entry& its = entry_of(d);
  if (its.is_printed && now - its.printed < pause_) {
    ++its.left_out;
    return;
  }
  if (in_second_ == 0 || now - second_began_ >= std::chrono::seconds(1)) {
    second_began_ = now;
    in_second_ = 0;
  }
  if (in_second_ == per_second_max_) {
    ++its.left_out;
    return;
  }
  ++in_second_;
  std::string text = to_string(d);
  if (its.left_out != 0)
    text += "\n  " + std::to_string(its.left_out) + " more of this line were not printed before";
  its.left_out = 0;
  its.printed = now;
  its.is_printed = true;
  std::fprintf(stderr, "%s\n", text.c_str());
}

void report_printer::end() noexcept {
  try {
    for (const entry& e : entries_)
      if (e.left_out != 0)
        std::fprintf(stderr, "heddle: %s: %llu more of %s were not printed\n", to_string(e.kind),
                     static_cast<unsigned long long>(e.left_out),
                     e.made == 0 ? "unknown lines" : to_string(resolve_site(e.made)).c_str());
    if (left_out_elsewhere_ != 0)
      std::fprintf(stderr, "heddle: %llu reports of further lines were not printed\n",
                   static_cast<unsigned long long>(left_out_elsewhere_));
  } catch (...) {  // no memory: the counts are lost
  }
  entries_.clear();
  left_out_elsewhere_ = 0;
}

}  // namespace heddle
