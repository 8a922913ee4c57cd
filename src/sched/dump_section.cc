// SPDX-License-Identifier: MIT
// Joining and leaving the list of sections, and reading it for a dump.
#include "heddle/sched/dump_section.hh"

#include <algorithm>
#include <mutex>
#include <utility>

#include "heddle/probe/json.hh"
#include "heddle/sched/runtime.hh"
#include "sched/dump_sections.hh"

namespace heddle {
namespace {

/// Any thread may hold the lock; a dump holds it while it reads, and readers never wait for a
/// color.
struct section_table {
  std::mutex lock;
  std::vector<dump_section*> all;
};

section_table& table_of_sections() {
  static section_table table;
  return table;
}

thread_local dump_sections* reading_here = nullptr;

}  // namespace

dump_section::dump_section(const char* name)
    : name_(name), of_(&runtime::here()), color_(worker::here().color) {
  section_table& t = table_of_sections();
  const std::lock_guard hold(t.lock);
  t.all.push_back(this);
}

dump_section::~dump_section() { leave(); }

void dump_section::leave() noexcept {
  section_table& t = table_of_sections();
  const std::lock_guard hold(t.lock);
  std::erase(t.all, this);
}

dump_sections::dump_sections(const runtime& of) : of_(of) { reading_here = this; }
dump_sections::~dump_sections() { reading_here = nullptr; }

void dump_sections::read(const runtime& of, const std::vector<bool>* quiet) {
  dump_sections* const into = reading_here;
  if (into == nullptr || &into->of_ != &of) return;
  into->found_.clear();
  into->left_out_ = 0;
  section_table& t = table_of_sections();
  const std::lock_guard hold(t.lock);
  for (const dump_section* s : t.all) {
    if (s->of_ != &of) continue;
    if (quiet != nullptr && (s->color_ >= quiet->size() || !(*quiet)[s->color_])) {
      ++into->left_out_;
      continue;
    }
    into->found_.push_back({s->name_, s->text(), s->json()});
  }
}

std::string dump_sections::text() const {
  std::string all;
  for (const one& s : found_) all += s.text;
  if (left_out_ != 0)
    all += "not listed: " + std::to_string(left_out_) +
           " sections of colors whose workers run and were not stopped\n";
  return all;
}

std::string dump_sections::json_members() const {
  std::string all;
  std::vector<std::string_view> done;
  for (const one& first : found_) {
    if (std::find(done.begin(), done.end(), first.name) != done.end()) continue;
    done.emplace_back(first.name);
    all += "," + json_quoted(first.name) + ":[";
    const char* comma = "";
    for (const one& s : found_)
      if (done.back() == s.name) all += std::exchange(comma, ",") + s.json;
    all += "]";
  }
  return all;
}

}  // namespace heddle
