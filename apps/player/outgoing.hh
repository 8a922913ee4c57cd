// SPDX-License-Identifier: MIT
// A segment that is to be sent stands in one place until nobody needs it any more: the window that
// holds it back, the parity of its group, its ack, the outbox. They keep references and copy
// nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "heddle/base/clock.hh"
#include "segment.hh"

namespace player {

class segment_pool;

/// A segment, and what the sender's micro-protocols note on it. Made by a segment_pool.
struct outgoing : segment {
  bool held = false;             ///< kept back for now (flow_control)
  bool again = false;            ///< sent before (acknowledgement)
  std::uint8_t tries = 0;        ///< how often it was sent (acknowledgement)
  heddle::time_point sent = {};  ///< the last time (round_trip)

 private:
  friend class kept;
  friend class segment_pool;
  std::uint32_t uses_ = 0;
  segment_pool* home_ = nullptr;
  outgoing* next_ = nullptr;  // while nobody uses it
};

/// A reference to a segment that keeps it. Size: a pointer. Thread: the color of its pool.
class kept {
 public:
  kept() = default;
  explicit kept(outgoing& s) noexcept : at_(&s) { ++s.uses_; }
  kept(const kept& other) noexcept : at_(other.at_) {
    if (at_ != nullptr) ++at_->uses_;
  }
  kept(kept&& other) noexcept : at_(std::exchange(other.at_, nullptr)) {}
  kept& operator=(kept other) noexcept {
    std::swap(at_, other.at_);
    return *this;
  }
  ~kept();

  [[nodiscard]] explicit operator bool() const noexcept { return at_ != nullptr; }
  [[nodiscard]] outgoing& operator*() const noexcept { return *at_; }
  [[nodiscard]] outgoing* operator->() const noexcept { return at_; }
  [[nodiscard]] bool is(const outgoing& s) const noexcept { return at_ == &s; }

 private:
  outgoing* at_ = nullptr;
};

/// Makes segments; those that nobody keeps any more are used again. Its memory grows to the largest
/// number at once, which windows and queues bound. It outlives all that it made.
class segment_pool {
 public:
  segment_pool() = default;
  segment_pool(const segment_pool&) = delete;
  segment_pool& operator=(const segment_pool&) = delete;

  [[nodiscard]] kept make() {
    if (free_ == nullptr) [[unlikely]]
      grow();
    outgoing& s = *std::exchange(free_, free_->next_);
    s = outgoing();
    s.home_ = this;
    return kept(s);
  }

 private:
  friend class kept;
  static constexpr std::size_t block = 64;

  void take_back(outgoing& s) noexcept {
    s.next_ = free_;
    free_ = &s;
  }
  void grow();

  outgoing* free_ = nullptr;
  std::vector<std::unique_ptr<outgoing[]>> blocks_;
};

inline kept::~kept() {
  if (at_ != nullptr && --at_->uses_ == 0) at_->home_->take_back(*at_);
}

}  // namespace player
