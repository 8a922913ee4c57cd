// SPDX-License-Identifier: MIT
// Cut and healed directions. See links.hh.
#include "sim/links.hh"

#include <algorithm>

#include "sim/world.hh"

namespace heddle::sim {

namespace {

// Linux sends a segment again after ever longer pauses, of at most 120 s (TCP_RTO_MAX).
constexpr nanoseconds resend_pause_max{120'000'000'000};

}  // namespace

links::pair links::key(const computer& from, const computer& to) noexcept {
  return {from.number, to.number};
}

void links::cut(const computer& from, const computer& to) {
  if (&from != &to) cuts_.try_emplace(key(from, to), cut_direction{world_.time(), nullptr, {}});
}

void links::heal(const computer& from, const computer& to) {
  if (const auto found = cuts_.find(key(from, to)); found != cuts_.end()) heal(found);
}

void links::heal_all() {
  while (!cuts_.empty()) heal(cuts_.begin());
}

void links::heal(std::map<pair, cut_direction>::iterator at) {
  auto healed = cuts_.extract(at);
  const nanoseconds lasted = world_.time() - healed.mapped().since;
  for (auto& what : healed.mapped().waiting)
    world_.after(healed.mapped().from->wire.up_to(std::min(lasted, resend_pause_max)),
                 std::move(what));
}

void links::when_healed(computer& from, const computer& to, std::move_only_function<void()> what) {
  cut_direction& cut = cuts_.at(key(from, to));
  cut.from = &from;
  cut.waiting.push_back(std::move(what));
}

void links::set(const computer& one, const computer& other, const sim_link& link) {
  links_[std::minmax(one.number, other.number)] = link;
}

const sim_link* links::of(const computer& one, const computer& other) const noexcept {
  if (links_.empty()) return nullptr;
  const auto found = links_.find(std::minmax(one.number, other.number));
  return found == links_.end() ? nullptr : &found->second;
}

}  // namespace heddle::sim
