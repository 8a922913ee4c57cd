// SPDX-License-Identifier: MIT
// Finding, writing and undoing in a transaction's log.
#include "heddle/sync/detail/stm_log.hh"

namespace heddle::detail {

stm_write* stm_log::find_written(const tvar_base& v) noexcept {
  if (index_ != nullptr) {
    const auto found = index_->find(&v);
    return found == index_->end() ? nullptr : &writes[found->second];
  }
  for (stm_write& w : writes)
    if (w.var == &v) return &w;
  return nullptr;
}

void stm_log::write_again(tvar_base& v, bool boxed, const stm_words& words) {
  stm_write* const w = find(v);
  const auto index = static_cast<std::size_t>(w - writes.begin());
  if (depth != 0) {
    unusual_ = true;
    undos_.push({index, w->words});  // takes a box's reference over
  } else if (boxed) {
    pin(box_in(w->words[0]));  // a reader may still refer to it
  }
  w->words = words;
}

/// Adds the last entry to the index; at the first call, makes the index of all entries.
void stm_log::index_writes() {
  if (index_ == nullptr) {
    unusual_ = true;
    index_ = std::make_unique<std::unordered_map<const tvar_base*, std::size_t>>();
    for (std::size_t i = 0; i < writes.size(); ++i) index_->emplace(writes[i].var, i);
  } else {
    index_->emplace(writes.back().var, writes.size() - 1);
  }
}

void stm_log::roll_back(const stm_mark& to) noexcept {
  while (undos_.size() > to.undos) {
    const stm_undo& u = undos_.back();
    stm_write& w = writes[u.index];
    if (w.boxed) box_in(w.words[0])->release();
    w.words = u.words;
    undos_.truncate(undos_.size() - 1);
  }
  while (writes.size() > to.writes) {
    stm_write& w = writes.back();
    if (w.boxed) box_in(w.words[0])->release();
    if (index_ != nullptr) index_->erase(w.var);
    writes.truncate(writes.size() - 1);
  }
}

void stm_log::release_boxes() noexcept {
  for (const stm_undo& u : undos_)
    if (writes[u.index].boxed) box_in(u.words[0])->release();
  for (const stm_write& w : writes)
    if (w.boxed) box_in(w.words[0])->release();
  for (stm_box* box : pins_) box->release();
  holds_boxes_ = false;
}

void stm_log::grow_reads() {
  unusual_ = true;
  reads.grow();
}

void stm_log::grow_writes() {
  unusual_ = true;
  writes.grow();
}

void stm_log::clear_unusual() noexcept {
  if (holds_boxes_) release_boxes();
  reads.clear(bytes_kept);
  writes.clear(bytes_kept);
  undos_.clear(bytes_kept);
  pins_.clear(bytes_kept);
  index_.reset();
  unusual_ = false;
}

}  // namespace heddle::detail
