// SPDX-License-Identifier: MIT
// Which changes need which. See name_log.hh.
#include "sim/name_log.hh"

#include <algorithm>

#include "sim/inode.hh"

namespace heddle::sim {

namespace {

// A kernel writes its journal now and then; here the older half of this many changes.
constexpr std::size_t changes_max = 65536;

}  // namespace

void name_log::change(std::vector<name_entry> entries) {
  change_of_names c{std::move(entries), {}, {}};
  for (const name_entry& e : c.entries) {
    if (c.entries.size() > 1)
      for (std::shared_ptr<inode> up = e.folder; up != nullptr; up = up->parent.lock())
        c.around.push_back(up.get());
    inode::children& names = e.folder->names;
    const auto was = names.find(e.name);
    if (was != names.end()) c.moved.push_back(was->second.get());
    if (e.now != nullptr) c.moved.push_back(e.now.get());
    if (e.now != nullptr)
      names[e.name] = e.now;
    else if (was != names.end())
      names.erase(was);
  }
  log_.push_back(std::move(c));
  if (log_.size() <= changes_max) return;
  const auto half = log_.begin() + changes_max / 2;
  std::for_each(log_.begin(), half, make_durable);
  log_.erase(log_.begin(), half);
}

void name_log::make_durable(const change_of_names& c) {
  for (const name_entry& e : c.entries) {
    if (e.now != nullptr)
      e.folder->durable_names[e.name] = e.now;
    else
      e.folder->durable_names.erase(e.name);
  }
}

void name_log::touched::add(const change_of_names& c) {
  for (const name_entry& e : c.entries) names_.emplace(e.folder.get(), e.name);
  moved_.insert(c.moved.begin(), c.moved.end());
  around_.insert(c.around.begin(), c.around.end());
}

bool name_log::touched::meets(const change_of_names& c) const {
  const auto in = [](const std::set<const inode*>& set, const std::vector<const inode*>& list) {
    return std::any_of(list.begin(), list.end(),
                       [&set](const inode* n) { return set.contains(n); });
  };
  return in(moved_, c.moved) || in(around_, c.moved) || in(moved_, c.around) ||
         std::any_of(c.entries.begin(), c.entries.end(), [this](const name_entry& e) {
           return names_.contains({e.folder.get(), e.name});
         });
}

void name_log::commit(const inode& folder) {
  touched needed;
  std::vector<bool> commits(log_.size());
  for (std::size_t i = log_.size(); i-- != 0;) {
    const change_of_names& c = log_[i];
    const bool here =
        std::any_of(c.entries.begin(), c.entries.end(),
                    [&folder](const name_entry& e) { return e.folder.get() == &folder; });
    if (!here && !needed.meets(c)) continue;
    commits[i] = true;
    needed.add(c);
  }
  std::vector<change_of_names> left;
  for (std::size_t i = 0; i != log_.size(); ++i) {
    if (commits[i])
      make_durable(log_[i]);
    else
      left.push_back(std::move(log_[i]));
  }
  log_ = std::move(left);
}

void name_log::crash(random_stream* kept) {
  touched lost;
  // 1 to 7 of eight changes that could be kept are: some failures lose little, others much.
  const std::uint64_t of_eight = kept == nullptr ? 0 : 1 + kept->below(7);
  for (const change_of_names& c : log_) {
    const bool drawn = kept != nullptr && kept->below(8) < of_eight;
    if (drawn && !lost.meets(c))
      make_durable(c);
    else
      lost.add(c);
  }
  log_.clear();
}

}  // namespace heddle::sim
