// SPDX-License-Identifier: MIT
// The policies that come with the library.
#include "heddle/sched/policy.hh"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

namespace heddle {

// `next` links the children of a node; the last child's is null. Ties keep the order of the pushes
// because the node that was there first stays above.
ready_color* color_heap::meld(ready_color* a, ready_color* b) noexcept {
  if (a == nullptr) return b;
  if (b == nullptr) return a;
  if (b->key < a->key) std::swap(a, b);
  b->next = a->child;
  a->child = b;
  return a;
}

void color_heap::push(ready_color& c) noexcept {
  c.next = c.child = nullptr;
  top_ = meld(top_, &c);
}

ready_color* color_heap::pop() noexcept {
  ready_color* const least = top_;
  if (least == nullptr) return nullptr;
  // Children are melded in pairs from the front, and the pairs from the back.
  ready_color* pairs = nullptr;
  for (ready_color* at = least->child; at != nullptr;) {
    ready_color* const a = at;
    ready_color* const b = a->next;
    at = b == nullptr ? nullptr : b->next;
    a->next = nullptr;
    if (b != nullptr) b->next = nullptr;
    ready_color* const both = meld(b, a);  // the older child, b, wins a tie
    both->next = pairs;
    pairs = both;
  }
  top_ = nullptr;
  while (pairs != nullptr) {
    ready_color* const rest = pairs->next;
    pairs->next = nullptr;
    top_ = meld(pairs, top_);
    pairs = rest;
  }
  least->child = nullptr;
  return least;
}

namespace {

class levels_in_order final : public policy {
 public:
  explicit levels_in_order(std::function<unsigned(color)> level_of)
      : level_of_(std::move(level_of)) {}
  void push(ready_color& c) noexcept override {
    const unsigned level = std::min(level_of_(c.number()), levels_max - 1);
    levels_[level].push(c);
    used_ |= std::uint64_t{1} << level;
  }
  ready_color* pop() noexcept override {
    if (used_ == 0) return nullptr;
    const auto level = static_cast<unsigned>(std::countr_zero(used_));
    ready_color* const c = levels_[level].pop();
    if (levels_[level].empty()) used_ &= ~(std::uint64_t{1} << level);
    return c;
  }

 private:
  static constexpr unsigned levels_max = 64;
  std::function<unsigned(color)> level_of_;
  std::uint64_t used_ = 0;
  std::array<color_list, levels_max> levels_;
};

class deadlines final : public policy {
 public:
  void push(ready_color& c) noexcept override {
    const auto due = c.deadline().time_since_epoch().count();
    c.key = static_cast<std::uint64_t>(std::max<std::int64_t>(due, 0));  // before 0: the first
    heap_.push(c);
  }
  ready_color* pop() noexcept override { return heap_.pop(); }
  bool uses_deadlines() const noexcept override { return true; }

 private:
  color_heap heap_;
};

/// Start-time fair queueing: a color's key is the virtual time at which its next turn begins.
class shares final : public policy {
 public:
  explicit shares(std::function<unsigned(color)> weight_of) : weight_of_(std::move(weight_of)) {}
  void push(ready_color& c) noexcept override {
    c.key = std::max(c.key, now_);
    heap_.push(c);
  }
  ready_color* pop() noexcept override {
    ready_color* const c = heap_.pop();
    if (c != nullptr) now_ = std::max(now_, c->key);
    return c;
  }
  void ran(ready_color& c, nanoseconds span) noexcept override {
    const unsigned weight = std::max(weight_of_(c.number()), 1U);
    c.key += static_cast<std::uint64_t>(span.count()) * scale / weight;
  }
  bool uses_time() const noexcept override { return true; }
  /// Forgets the color's key, which counts this worker's virtual time. At another worker it begins
  /// with that one's.
  void left(ready_color& c) noexcept override { c.key = 0; }

 private:
  static constexpr std::uint64_t scale = 16;  // so that short turns of heavy colors count too
  std::function<unsigned(color)> weight_of_;
  std::uint64_t now_ = 0;
  color_heap heap_;
};

class shuffle final : public policy {
 public:
  explicit shuffle(std::uint64_t seed) : state_(seed * 2 + 1) { waiting_.reserve(places_max); }
  void push(ready_color& c) noexcept override { waiting_.push_back(&c); }
  ready_color* pop() noexcept override {
    if (waiting_.empty()) return nullptr;
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    const std::size_t pick = static_cast<std::size_t>(state_ >> 33) % waiting_.size();
    std::swap(waiting_[pick], waiting_.back());
    ready_color* const c = waiting_.back();
    waiting_.pop_back();
    return c;
  }

 private:
  static constexpr std::size_t places_max = 65536;  // colors in a table: the vector never grows
  std::uint64_t state_;
  std::vector<ready_color*> waiting_;
};

}  // namespace

std::unique_ptr<policy> strict_priorities(std::function<unsigned(color)> level_of) {
  return std::make_unique<levels_in_order>(std::move(level_of));
}
std::unique_ptr<policy> earliest_deadline() { return std::make_unique<deadlines>(); }
std::unique_ptr<policy> weighted_shares(std::function<unsigned(color)> weight_of) {
  return std::make_unique<shares>(std::move(weight_of));
}
std::unique_ptr<policy> seeded_shuffle(std::uint64_t seed) {
  return std::make_unique<shuffle>(seed);
}

}  // namespace heddle
