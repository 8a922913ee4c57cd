// SPDX-License-Identifier: MIT
// Binding and unbinding. Outside of raises both take effect at once. While a raise runs, its arrays
// must not change: new bindings wait in pending_, and unbound ones become tombstones. settle()
// applies both after the outermost raise.
#include <algorithm>
#include <limits>

#include "heddle/bus/bus.hh"

namespace heddle {

binding bus::bind_slot(detail::topic_record& r, detail::slot s, detail::slot_info info) {
  if (handler_count_ >= options_.handlers_max)
    throw failure(std::make_error_code(std::errc::no_buffer_space),
                  "cannot bind to topic " + std::string(r.topic->name) + ": " +
                      std::to_string(handler_count_) +
                      " handlers are bound; unbind some, or raise bus_options::handlers_max");
  info.serial = ++serial_;
  if (in_raise()) {
    pending_.push_back({&r, s, info});
    note_change();
  } else {
    insert(r, s, info);
    refresh(r);
  }
  ++handler_count_;
  return {r.topic, info.serial};
}

void bus::insert(detail::topic_record& r, detail::slot s, const detail::slot_info& info) {
  const auto at = std::ranges::upper_bound(r.infos, info.order, {}, &detail::slot_info::order);
  const auto index = at - r.infos.begin();
  r.bound.reserve(r.bound.size() + 1);  // so that both grow, or neither
  r.infos.insert(at, info);
  r.bound.insert(r.bound.begin() + index, s);
  if (r.recording != nullptr) [[unlikely]]
    r.recording->bound(r, info);
}

namespace {

/// The plan's variant that these bindings match, or null.
const detail::variant* matching_variant(const detail::topic_record& r) noexcept {
  const detail::variant_table& table = r.calls.variants;
  for (std::uint32_t v = 0; v < table.count; ++v) {
    const detail::variant& candidate = table.first[v];
    bool matches = candidate.len == r.infos.size();
    for (std::uint32_t i = 0; matches && i < candidate.len; ++i) {
      const detail::planned_number& here = r.infos[i].planned;
      matches = candidate.numbers[i] < 0 ||
                (here.plan == table.plan && here.number == candidate.numbers[i]);
    }
    if (matches) return &candidate;
  }
  return nullptr;
}

}  // namespace

void bus::refresh(detail::topic_record& r) noexcept {
  const bool filtered = !r.infos.empty() && r.infos.front().kind == detail::slot_kind::filter;
  if (r.recording != nullptr || filtered) [[unlikely]] {
    if (r.recording != nullptr) r.recording->forget_bindings(r);
    r.whole.call = r.recording != nullptr ? r.calls.recorded : r.calls.filtered;
    r.begin = &r.whole;
    r.end = r.begin + (r.bound.empty() ? 0 : 1);
    set_active(r, nullptr);
    return;
  }
  r.begin = r.bound.data();
  r.end = r.begin + r.bound.size();
  set_active(r, matching_variant(r));
}

void bus::set_active(detail::topic_record& r, const detail::variant* v) noexcept {
  const detail::variant_table& table = r.calls.variants;
  if (table.count == 0 || table.plan != merged_.plan) return;
  const detail::topic_info*& owner = merged_memory_.topics[table.topic];
  if (owner != nullptr && owner != r.topic) return;  // a topic of the same name in another file
  owner = r.topic;
  if (merged_memory_.all_generic) return;
  if (std::ranges::find(merged_memory_.generic, r.topic->hash) != merged_memory_.generic.end())
    return;
  detail::merged_memory::chain& chain = merged_memory_.chains[table.chain];
  if (r.active != nullptr) --chain.matching;
  if (v != nullptr) ++chain.matching;
  r.active = v;
  const detail::variant* const name = table.chain_len == 1 ? v : table.lead;
  chain.idle =
      chain.matching == table.chain_len ? detail::idle_state(name) : detail::chain_state::differs;
  merged_.states[table.chain] = chain.idle;
  if (v == nullptr) return;
  void** const objects = merged_.objects + table.objects_at;
  for (std::uint32_t i = 0; i < v->len; ++i)
    objects[i] = v->numbers[i] < 0 ? static_cast<void*>(&r.bound[i]) : r.bound[i].self;
}

/// A change of bindings in a raise, which applies after it. No chain's state says "busy" any more,
/// so that the merged raises in progress go on generically, and at their ends apply the change.
void bus::note_change() noexcept {
  unsettled_ = true;
  for (std::size_t i = 0; i < merged_memory_.chains.size(); ++i) {
    if (!detail::is_busy(merged_.states[i])) continue;
    merged_.states[i] = detail::chain_state::differs;
    ++changed_raises_;
  }
}

void bus::leave_changed() noexcept {
  --changed_raises_;
  if (unsettled_) settle_behind_raises();
}

bool bus::in_merged_raise() const noexcept {
  if (changed_raises_ != 0) return true;
  for (std::size_t i = 0; i < merged_memory_.chains.size(); ++i)
    if (detail::is_busy(merged_.states[i])) return true;
  return false;
}

void bus::settle_behind_raises() noexcept {
  if (!in_raise()) settle();
}

bool bus::unbind(const binding& b) noexcept {
  if (b.topic == nullptr || b.serial == 0) return false;
  detail::topic_record* const r = look_up(*b.topic);
  if (r == nullptr) return false;
  for (std::size_t i = 0; i < r->infos.size(); ++i) {
    if (r->infos[i].serial != b.serial) continue;
    remove(*r, i);
    return true;
  }
  for (pending_bind& p : pending_) {
    if (p.info.serial != b.serial) continue;
    drop_pending(p);
    return true;
  }
  return false;
}

/// Acts as if inside a raise: no closure is destroyed, and so none binds, unbinds or raises, before
/// the search has ended.
template <class Which>
std::size_t bus::unbind_where(Which which) noexcept {
  const raising inside(*this);
  std::size_t count = 0;
  for (const auto& r : records_) {
    for (std::size_t i = r->infos.size(); i-- > 0;) {
      if (r->infos[i].serial == 0 || !which(r->infos[i])) continue;
      remove(*r, i);
      ++count;
    }
  }
  for (pending_bind& p : pending_) {
    if (p.info.serial == 0 || !which(p.info)) continue;
    drop_pending(p);
    ++count;
  }
  return count;
}

std::size_t bus::unbind_all(const void* object) noexcept {
  if (object == nullptr) return 0;
  return unbind_where([object](const detail::slot_info& info) { return info.object == object; });
}

void bus::unbind_everything() noexcept {
  unbind_where([](const detail::slot_info&) { return true; });
}

void bus::remove(detail::topic_record& r, std::size_t at) noexcept {
  --handler_count_;
  if (r.recording != nullptr) [[unlikely]]
    r.recording->unbound(r, r.infos[at]);
  if (in_raise()) {
    // The closure may be running now, so it lives until the raise has ended.
    r.bound[at].call = r.calls.tombstone;
    r.infos[at].serial = 0;
    r.infos[at].object = nullptr;
    r.has_tombstones = true;
    if (r.recording != nullptr) [[unlikely]]
      r.recording->forget_bindings(r);
    note_change();
    set_active(r, nullptr);
    return;
  }
  const detail::slot gone = r.bound[at];
  const auto destroy = r.infos[at].destroy;
  r.bound.erase(r.bound.begin() + static_cast<std::ptrdiff_t>(at));
  r.infos.erase(r.infos.begin() + static_cast<std::ptrdiff_t>(at));
  refresh(r);
  if (destroy != nullptr) destroy(gone.self);  // the closure's destructor may bind, unbind or raise
}

void bus::drop_pending(pending_bind& p) noexcept {
  --handler_count_;
  p.info.serial = 0;
  p.info.object = nullptr;
}

void bus::settle() noexcept {
  unsettled_ = false;
  std::vector<std::pair<void*, void (*)(void*)>> garbage;
  for (const auto& r : records_) {
    r->waiters.each([](detail::topic_waiter& x) { x.late = false; });
    if (!r->has_tombstones) continue;
    r->has_tombstones = false;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < r->infos.size(); ++i) {
      if (r->infos[i].serial != 0) {
        r->infos[kept] = r->infos[i];
        r->bound[kept++] = r->bound[i];
      } else if (r->infos[i].destroy != nullptr) {
        garbage.emplace_back(r->bound[i].self, r->infos[i].destroy);
      }
    }
    r->infos.resize(kept);
    r->bound.resize(kept);
    refresh(*r);
  }
  for (const pending_bind& p : std::exchange(pending_, {})) {
    if (p.info.serial == 0) {
      if (p.info.destroy != nullptr) garbage.emplace_back(p.slot.self, p.info.destroy);
      continue;
    }
    insert(*p.record, p.slot, p.info);
    refresh(*p.record);
  }
  for (std::size_t i = 0; i < merged_memory_.chains.size(); ++i)
    merged_.states[i] = merged_memory_.chains[i].idle;
  for (const auto& [self, destroy] : garbage)
    destroy(self);  // the closure's destructor may bind, unbind or raise
}

void bus::wait_for(detail::topic_info& topic, detail::make_topic_calls calls,
                   detail::topic_waiter& waiter) {
  detail::topic_record& r = obtain(topic, calls);
  if (!r.serves_waiters) {
    bind_slot(
        r, {r.calls.waiters, &r},
        {r.calls.waiters_info, r.calls.waiters_planned, std::numeric_limits<std::int64_t>::max(), 0,
         nullptr, nullptr, detail::slot_kind::waiters});
    r.serves_waiters = true;
  }
  waiter.late = in_raise();
  if (waiter.late) note_change();
  r.waiters.push_back(waiter);
}

}  // namespace heddle
