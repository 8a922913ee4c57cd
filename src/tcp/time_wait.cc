// SPDX-License-Identifier: MIT
// The table of TIME-WAIT records: chains by hash, and one queue by time. All wait equally long, so
// the queue is in order, except for records whose time was restarted; those go to its end when
// their turn comes.
#include "tcp/time_wait.hh"

namespace heddle::tcp {

namespace {
constexpr std::uint64_t dead_key = 0;
}

time_wait_record* time_wait_table::find(std::uint64_t hash) noexcept {
  for (std::uint32_t at = bucket(hash); at != no_index; at = records_[at].link)
    if (records_[at].key >> 1 == hash >> 1) return &records_[at];
  return nullptr;
}

void time_wait_table::add(std::uint64_t hash, bool timestamps, const time_wait_record& r) {
  if (limit_ == 0) return;
  while (records_.used() >= limit_) pop_first();
  const std::uint32_t index = records_.take(limit_);
  time_wait_record& n = records_[index];
  n = r;
  n.key = (hash & ~std::uint64_t{1}) | (timestamps ? 1 : 0);
  n.link = bucket(hash);
  n.after = no_index;
  bucket(hash) = index;
  if (last_ == no_index) {
    first_ = index;
  } else {
    records_[last_].after = index;
  }
  last_ = index;
  if (size() > 2 * buckets_.size()) widen();
}

void time_wait_table::unlink(std::uint32_t index) noexcept {
  std::uint32_t* at = &bucket(records_[index].key);
  while (*at != index) at = &records_[*at].link;
  *at = records_[index].link;
}

void time_wait_table::remove(std::uint64_t hash) noexcept {
  for (std::uint32_t at = bucket(hash); at != no_index; at = records_[at].link)
    if (records_[at].key >> 1 == hash >> 1) {
      unlink(at);
      records_[at].key = dead_key;
      ++dead_;
      return;
    }
}

void time_wait_table::pop_first() noexcept {
  const std::uint32_t index = first_;
  first_ = records_[index].after;
  if (first_ == no_index) last_ = no_index;
  if (records_[index].key == dead_key) {
    --dead_;
  } else {
    unlink(index);
  }
  records_.give_back(index);
}

void time_wait_table::expire(instant now) noexcept {
  while (first_ != no_index) {
    time_wait_record& r = records_[first_];
    if (r.key != dead_key && time_of(r.due, now) > now) {
      // A record whose time was restarted must not hold up the records behind it.
      const std::uint32_t behind = r.after;
      if (behind == no_index || time_of(records_[behind].due, now) >= time_of(r.due, now)) return;
      const std::uint32_t index = first_;
      first_ = behind;
      r.after = no_index;
      records_[last_].after = index;
      last_ = index;
      continue;
    }
    pop_first();
  }
}

instant time_wait_table::next(instant now) const noexcept {
  return first_ == no_index ? never_due : time_of(records_[first_].due, now);
}

void time_wait_table::widen() {
  std::vector<std::uint32_t> old(buckets_.size() * 2, no_index);
  old.swap(buckets_);
  for (std::uint32_t at : old)
    while (at != no_index) {
      const std::uint32_t next = records_[at].link;
      std::uint32_t& head = bucket(records_[at].key);
      records_[at].link = head;
      head = at;
      at = next;
    }
}

}  // namespace heddle::tcp
