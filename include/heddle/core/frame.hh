// SPDX-License-Identifier: MIT
// Everything that runs is a frame: a record that can be resumed, destroyed and linked. A `link`
// names one. Its lowest bit says which kind: 0, a C++ coroutine frame; 1, a plain frame
// (heddle/abi.h). Both keep the next link at offset 16, so one ready queue carries both and never
// allocates. A coroutine is resumed only through coroutine_handle::resume(), a plain frame only
// through its function pointer.
#pragma once

#include <coroutine>
#include <cstdint>

#include "heddle/abi.h"

namespace heddle {

using link = heddle_link;
using frame = heddle_frame;

inline constexpr link no_link = 0;
inline constexpr link plain_bit = 1;
inline constexpr std::size_t next_offset = 16;

static_assert(sizeof(frame) == 32 && offsetof(frame, next) == next_offset);

[[nodiscard]] inline link link_of(frame& f) noexcept {
  return reinterpret_cast<link>(&f) | plain_bit;
}
[[nodiscard]] inline link link_of(std::coroutine_handle<> h) noexcept {
  return reinterpret_cast<link>(h.address());
}
[[nodiscard]] inline bool is_plain(link l) noexcept { return (l & plain_bit) != 0; }
[[nodiscard]] inline frame& plain_of(link l) noexcept {
  return *reinterpret_cast<frame*>(l & ~plain_bit);
}
[[nodiscard]] inline link& next_of(link l) noexcept {
  return *reinterpret_cast<link*>((l & ~plain_bit) + next_offset);
}

/// A list of frames in order, none of which is running. It is two words; all zeros is empty.
struct frame_list {
  link first = no_link;
  link* end = nullptr;  ///< where the next one is linked

  [[nodiscard]] bool empty() const noexcept { return first == no_link; }
  void push(link l) noexcept {
    next_of(l) = no_link;
    *(first == no_link ? &first : end) = l;
    end = &next_of(l);
  }
};

/// A FIFO of frames, linked through the frames themselves.
class ready_queue {
 public:
  [[nodiscard]] bool empty() const noexcept { return head_ == no_link; }
  [[nodiscard]] link first() const noexcept { return head_; }

  void push(link l) noexcept {
    next_of(l) = no_link;
    *tail_ = l;
    tail_ = &next_of(l);
  }
  void push_front(link l) noexcept {
    if (head_ == no_link) tail_ = &next_of(l);
    next_of(l) = head_;
    head_ = l;
  }
  /// The queue must not be empty.
  [[nodiscard]] link pop() noexcept {
    const link l = head_;
    head_ = next_of(l);
    if (head_ == no_link) tail_ = &head_;
    return l;
  }

  /// Calls run(link) for at most `limit` frames, in order; returns how many ran. `run` may
  /// change the queue.
  template <class Run>
  std::size_t run_each(std::size_t limit, Run&& run) noexcept {
    link l = head_;
    if (l == no_link || limit == 0) return 0;
    // The next frame is kept in a register as well as in head_: the way from one frame to the next
    // is then one load and not a store and two loads.
    std::size_t left = limit;
    do {
      link next = next_of(l);
      head_ = next;
      if (next == no_link) tail_ = &head_;
      run(l);
      if (head_ != next) [[unlikely]] {
        next = head_;
        asm("" : "+r"(next));  // else the compiler always does "next = head_"
      }
      l = next;
      asm("" : "+r"(left));  // else the compiler counts up and compares
      --left;
    } while (left != 0 && l != no_link);
    return limit - left;
  }

  /// Appends a list, which is empty afterwards.
  void append(frame_list& other) noexcept {
    if (other.empty()) return;
    *tail_ = other.first;
    tail_ = other.end;
    other = {};
  }
  /// Gives everything to a list that is empty.
  void move_to(frame_list& other) noexcept {
    if (empty()) return;
    other = {head_, tail_};
    head_ = no_link;
    tail_ = &head_;
  }

  /// Takes one frame out of the middle; for the rare frame that is destroyed after its wake.
  /// Linear.
  bool remove(link l) noexcept {
    for (link* at = &head_; *at != no_link; at = &next_of(*at)) {
      if (*at != l) continue;
      *at = next_of(l);
      if (*at == no_link) tail_ = at;
      return true;
    }
    return false;
  }
  /// Calls f(link) for each frame in order; f must not change the queue.
  template <class F>
  void each(F&& f) const {
    for (link l = head_; l != no_link; l = next_of(l)) f(l);
  }

  ready_queue() noexcept = default;
  ready_queue(const ready_queue&) = delete;
  ready_queue& operator=(const ready_queue&) = delete;

 private:
  link head_ = no_link;
  link* tail_ = &head_;
};

}  // namespace heddle
