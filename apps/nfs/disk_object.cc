// SPDX-License-Identifier: MIT
// Verdicts of objects, and the tables of open ones.
#include "disk_object.hh"

namespace nfs {

const permissions* disk_object::permitted(const identity& who, const file_stat& st) const noexcept {
  for (const verdict& v : verdicts_)
    if (v.known && same_time(v.ctime, st.st_ctim) && v.who == who) return &v.may;
  return nullptr;
}

borrowed disk_object::lend(const identity& who) const {
  borrowed b{in_, own_, fd_, {}, {}, false};
  for (const verdict& v : verdicts_)
    if (v.known && v.who == who) {
      b.may = v.may;
      b.ctime = v.ctime;
      break;
    }
  return b;
}

void disk_object::learn(borrowed&& from, const identity& who) {
  if (from.fd->for_what() > fd_->for_what()) fd_ = std::move(from.fd);
  if (!from.learned) return;
  verdict* place = nullptr;
  for (verdict& v : verdicts_)
    if (v.known && v.who == who) place = &v;
  if (place == nullptr) {
    place = &verdicts_[next_verdict_];
    next_verdict_ = (next_verdict_ + 1) % verdicts_.size();
    place->who = who;
  }
  place->may = *from.may;
  place->ctime = from.ctime;
  place->known = true;
}

std::shared_ptr<disk_object> disk_shard::find(const handle& of, std::uint64_t hash) {
  const auto at = by_hash.find(hash);
  if (at == by_hash.end() || (*at->second)->own() != of) return nullptr;
  objects.splice(objects.begin(), objects, at->second);
  (*at->second)->used = heddle::clock::now();
  return *at->second;
}

void disk_shard::add(const std::shared_ptr<disk_object>& o) {
  o->used = heddle::clock::now();
  if (by_hash.contains(o->hash())) return;  // two handles with one hash: the later is not kept
  objects.push_front(o);
  by_hash.emplace(o->hash(), objects.begin());
}

open_ptr disk_shard::take(const handle& of, std::uint64_t hash) {
  const auto at = by_hash.find(hash);
  if (at == by_hash.end() || (*at->second)->own() != of) return nullptr;
  open_ptr fd = (*at->second)->fd_ptr();
  objects.erase(at->second);
  by_hash.erase(at);
  return fd;
}

std::vector<open_ptr> disk_shard::take_unused(std::size_t count, heddle::time_point since) {
  std::vector<open_ptr> taken;
  for (auto at = objects.end(); at != objects.begin();) {
    --at;
    const std::shared_ptr<disk_object>& o = *at;
    if (objects.size() <= count && o->used >= since) break;
    if (o.use_count() != 1) continue;
    taken.push_back(o->fd_ptr());
    by_hash.erase(o->hash());
    at = objects.erase(at);
  }
  return taken;
}

}  // namespace nfs
