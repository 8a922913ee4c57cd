// SPDX-License-Identifier: MIT
// The frames that come to a color from other workers, and whether a worker looks after the color.
// One word:
//   idle               nothing to do, and no worker holds the color
//   busy               queued or held; nothing has come
//   a chain of links   queued or held; these have come, newest first
// A worker that makes an idle color busy must queue it or hold it. Only its holder makes it idle,
// if nothing has come. So it is in one queue at most, one worker at most runs it, and each holder
// sees the work of the one before. tests/sched/interleavings_test.cc tries every order of the steps
// here.
#pragma once

#include <atomic>

#include "heddle/core/frame.hh"

namespace heddle {

/// Word is std::atomic<link>, or what a test puts in its place. All zeros is idle.
template <class Word>
class color_inbox {
 public:
  static constexpr link idle = 0;
  static constexpr link busy = 2;  // not a link: a link is a multiple of 8, or that plus 1

  /// Sends a frame. True: the color was idle, and the caller must queue it. `newest` is the
  /// caller's guess of the word here, and then the word that was here. A guess replaces a read,
  /// because a word that is read first must be fetched twice from the other core. Thread: any.
  [[nodiscard]] bool send(link l, link& newest) noexcept {
    do {
      next_of(l) = newest;
      // release: the frame's content; acquire: writes of the last holder
    } while (!word_.compare_exchange_weak(newest, l, std::memory_order_acq_rel,
                                          std::memory_order_relaxed));
    return newest == idle;
  }
  [[nodiscard]] bool send(link l) noexcept {
    link newest = busy;
    return send(l, newest);
  }
  /// Moves the frames that have come behind those in `waiting`, oldest first. Thread: the holder.
  void take(frame_list& waiting) noexcept {
    if (word_.load(std::memory_order_relaxed) == busy) return;
    link l = word_.exchange(busy, std::memory_order_acquire);
    if (l <= busy) return;
    link* const end = &next_of(l);
    link oldest = no_link;
    do {
      const link before = next_of(l);
      next_of(l) = oldest;
      oldest = l;
      l = before;
    } while (l > busy);
    *(waiting.empty() ? &waiting.first : waiting.end) = oldest;
    waiting.end = end;
  }
  /// Holds a color if it is idle. Thread: any.
  [[nodiscard]] bool hold() noexcept {
    // seq_cst: one order with world_pause::asked(); src/sched/quiet_colors.hh says why
    link expected = idle;
    return word_.load(std::memory_order_seq_cst) == idle &&
           word_.compare_exchange_strong(expected, busy, std::memory_order_seq_cst,
                                         std::memory_order_seq_cst);
  }
  /// Lets go of the color; false if frames have come: then it stays held. Thread: the holder.
  [[nodiscard]] bool let_go() noexcept {
    link expected = busy;
    return word_.compare_exchange_strong(expected, idle, std::memory_order_release,
                                         std::memory_order_relaxed);
  }
  /// Whether frames have come; a quick check for the holder.
  [[nodiscard]] bool has_more() const noexcept {
    return word_.load(std::memory_order_relaxed) != busy;
  }
  /// The newest frame that has come, or no_link. Only while no holder takes frames.
  [[nodiscard]] link newest() const noexcept {
    const link l = word_.load(std::memory_order_acquire);  // pairs with the release in send()
    return l > busy ? l : no_link;
  }
  /// Whether this ends a chain that newest() began.
  [[nodiscard]] static bool ends_chain(link l) noexcept { return l <= busy; }

 private:
  Word word_{idle};
};

}  // namespace heddle
