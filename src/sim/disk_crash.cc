// SPDX-License-Identifier: MIT
// The disk after a power failure: the journal had written some changes of names (name_log.hh), and
// each page of a file is as it was before or after the last writes, with an end that may be cut at
// any 512 bytes.
#include <algorithm>
#include <set>

#include "sim/disk.hh"

namespace heddle::sim {

namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t sector_bytes = 512;

/// The rest of a file whose content changed from `old` to `now`, and was cut to `least` bytes on
/// the way.
std::string content_kept(std::string old, const std::string& now, std::size_t least,
                         random_stream& kept) {
  if (least < old.size()) {
    if (kept.below(2) == 0) return old;  // the cut is lost, and with it all that came after it
    old.resize(least);
  }
  std::size_t len = old.size();
  if (now.size() > len) {
    const std::size_t sectors = (now.size() - len + sector_bytes - 1) / sector_bytes;
    const std::uint64_t end =
        kept.below(4);  // a quarter of files keeps its old end, or its new one
    len += end == 0 ? 0 : sector_bytes * (end == 1 ? sectors : kept.below(sectors + 1));
    len = std::min(len, now.size());
  }
  std::string left = old;
  left.resize(len, '\0');  // a page that was added and lost reads as zeros
  for (std::size_t at = 0; at < len; at += page_bytes) {
    const std::size_t part = std::min(page_bytes, len - at);
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
      n->content = kept == nullptr
                       ? n->durable_content
                       : content_kept(n->durable_content, n->content, n->least_bytes, *kept);
    n->durable_content = n->content;
    n->least_bytes = n->content.size();
    n->names = n->durable_names;
    if (n->what == inode::kind::file) bytes_ += n->content.size();
    for (const auto& [name, child] : n->names) {
      child->parent = n;
      rest.push_back(child);
    }
  }
}

}  // namespace heddle::sim
