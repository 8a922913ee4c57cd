// SPDX-License-Identifier: MIT
// A power failure, as a file system with a journal leaves the disk: of the changes that were not
// synced some are kept and some lost, in any order that the seed draws. A rename is one change. Of
// a file's content each page is the old or the new one, and its end may be cut at any 512 bytes.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sim/process.hh"

namespace heddle::sim {

namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t sector_bytes = 512;

/// What is left of a file whose content changed from `old` to `now`.
std::string content_kept(const std::string& old, const std::string& now, random_stream& kept) {
  std::size_t len = kept.below(2) == 0 ? old.size() : now.size();
  if (now.size() > old.size()) {
    const std::size_t grown = now.size() - old.size();
    const std::size_t sectors = kept.below((grown + sector_bytes - 1) / sector_bytes + 1);
    len = std::min(now.size(), old.size() + sectors * sector_bytes);
  }
  std::string left = old;
  left.resize(len, '\0');  // a page that was added and lost reads as zeros
  for (std::size_t at = 0; at < std::min(len, now.size()); at += page_bytes) {
    const std::size_t part = std::min(page_bytes, std::min(len, now.size()) - at);
    if (kept.below(2) == 0) left.replace(at, part, now, at, part);
  }
  return left;
}

/// The names of a directory that differ from its durable ones, each with what it means now.
struct name_change {
  inode* folder;
  std::string name;
  inode_ptr now;  ///< null: the name is gone
};

/// All changes that the move, the birth or the end of one inode made: kept together or not at all.
struct change_of_names {
  const inode* moved;
  std::vector<name_change> edits = {};
  bool kept = false;
};

class power_failure {
 public:
  power_failure(inode_ptr root, random_stream* kept) : root_(std::move(root)), kept_(kept) {}

  /// Gives the bytes of all files that are left.
  std::uint64_t run() {
    look(root_);
    if (kept_ != nullptr) {
      for (change_of_names& change : changes_) change.kept = kept_->below(2) == 0;
      keep_what_came_before();
    }
    for (inode* folder : folders_) folder->names = folder->durable_names;
    for (const change_of_names& change : changes_)
      if (change.kept) apply(change);
    std::uint64_t bytes = 0;
    seen_.clear();
    settle(root_, bytes);
    return bytes;
  }

 private:
  /// Collects the changes below a directory, in its durable and in its present state.
  void look(const inode_ptr& at) {
    if (!seen_.insert(at.get()).second || at->what != inode::kind::directory) return;
    folders_.push_back(at.get());
    for (const auto& [name, was] : at->durable_names)
      if (!at->names.contains(name)) edit_of(*was).edits.push_back({at.get(), name, nullptr});
    for (const auto& [name, is] : at->names) {
      const auto was = at->durable_names.find(name);
      if (was == at->durable_names.end() || was->second != is)
        edit_of(*is).edits.push_back({at.get(), name, is});
    }
    const inode::children before = at->durable_names;
    for (const auto& [name, child] : before) look(child);
    for (const auto& [name, child] : at->names) look(child);
  }
  change_of_names& edit_of(const inode& moved) {
    const auto [at, fresh] = by_inode_.try_emplace(&moved, changes_.size());
    if (fresh) changes_.push_back({&moved});
    return changes_[at->second];
  }
  /// Keeps what was done before a change that is kept: the way to its folder was made, a file that
  /// it replaced had gone out of its way, and a folder that it removed had become empty.
  void keep_what_came_before() {
    for (bool again = true; again;) {
      again = false;
      for (change_of_names& change : changes_) {
        if (!change.kept && leaves_removed_folder(change)) again = change.kept = true;
        if (change.kept) again |= keep_before(change);
      }
    }
  }
  bool keep_before(const change_of_names& change) {
    bool more = keep_place(*change.moved);
    for (const name_change& edit : change.edits) {
      if (edit.now == nullptr) continue;
      const auto was = edit.folder->durable_names.find(edit.name);
      if (was != edit.folder->durable_names.end()) more |= keep_place(*was->second);
    }
    return more;
  }
  /// Keeps the present place of an inode that may lose its durable one, and the way to it; notes
  /// that it has none any more.
  bool keep_place(const inode& n) {
    if (!is_named(n)) return removed_.insert(&n).second;
    bool more = keep(&n);
    for (inode_ptr up = n.parent.lock(); up != nullptr; up = up->parent.lock())
      more |= keep(up.get());
    return more;
  }
  /// Whether the inode has a name in the present state.
  [[nodiscard]] static bool is_named(const inode& n) {
    const inode_ptr folder = n.parent.lock();
    return folder != nullptr &&
           std::any_of(folder->names.begin(), folder->names.end(),
                       [&n](const auto& entry) { return entry.second.get() == &n; });
  }
  [[nodiscard]] bool leaves_removed_folder(const change_of_names& change) const {
    return std::any_of(change.edits.begin(), change.edits.end(),
                       [this](const name_change& edit) { return removed_.contains(edit.folder); });
  }
  /// Whether a change of this inode was not kept until now.
  bool keep(const inode* moved) {
    const auto at = by_inode_.find(moved);
    return at != by_inode_.end() && !std::exchange(changes_[at->second].kept, true);
  }
  static void apply(const change_of_names& change) {
    for (const name_change& edit : change.edits) {
      auto& names = edit.folder->names;
      if (edit.now != nullptr) {
        names[edit.name] = edit.now;
        continue;
      }
      // Another inode may have come under this name by a change that was applied before.
      const auto is = names.find(edit.name);
      const auto was = edit.folder->durable_names.find(edit.name);
      if (is != names.end() && is->second == was->second) names.erase(is);
    }
  }
  /// Makes what is left durable, and draws the content of each file.
  void settle(const inode_ptr& at, std::uint64_t& bytes) {
    // A rename of which one half was synced leaves two names for one inode.
    if (!seen_.insert(at.get()).second) return;
    if (at->content != at->durable_content)
      at->content = kept_ == nullptr ? at->durable_content
                                     : content_kept(at->durable_content, at->content, *kept_);
    at->durable_content = at->content;
    at->durable_names = at->names;
    if (at->what == inode::kind::file) bytes += at->content.size();
    for (const auto& [name, child] : at->names) {
      if (child->what == inode::kind::directory) child->parent = at;
      settle(child, bytes);
    }
  }

  inode_ptr root_;
  random_stream* kept_;
  std::set<const inode*> seen_;
  std::vector<inode*> folders_;
  std::vector<change_of_names> changes_;
  std::set<const inode*> removed_;                // by changes that are kept
  std::map<const inode*, std::size_t> by_inode_;  // finds only: its order is that of addresses
};

}  // namespace

void disk::crash(random_stream* kept) { bytes_ = power_failure(root_, kept).run(); }

}  // namespace heddle::sim
