// SPDX-License-Identifier: MIT
// A power failure leaves of the changes of names those that the journal had written
// (name_log.hh), and of a file's content each page as it was or as it is, with an end that may be
// cut at any 512 bytes.
#include <algorithm>
#include <set>

#include "sim/disk.hh"

namespace heddle::sim {

namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t sector_bytes = 512;

/// The rest of a file whose content changed from `old` to `now`.
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

}  // namespace

void disk::crash(random_stream* kept) {
  log_.crash(kept);
  bytes_ = 0;
  std::set<const inode*> seen;
  std::vector<inode_ptr> rest{root_};
  while (!rest.empty()) {
    const inode_ptr n = rest.back();
    rest.pop_back();
    if (!seen.insert(n.get()).second) continue;
    if (n->content != n->durable_content)
      n->content = kept == nullptr ? n->durable_content
                                   : content_kept(n->durable_content, n->content, *kept);
    n->durable_content = n->content;
    n->names = n->durable_names;
    if (n->what == inode::kind::file) bytes_ += n->content.size();
    for (const auto& [name, child] : n->names) {
      child->parent = n;
      rest.push_back(child);
    }
  }
}

}  // namespace heddle::sim
