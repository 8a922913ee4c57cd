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
  static constexpr link busy = 2;  // no link: links are multiples of 8, or of 8 and 1

  /// Sends a frame. True: it was idle, and the caller must queue it. `newest` is what the caller
  /// supposes to be here, and then the word that was here. A guess, not a look: a word that is read
  /// first must be fetched twice from the other core. Thread: any.
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
  /// Takes what has come, oldest first, behind what waits. Thread: the holder.
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
  /// Takes hold of an idle color. Thread: any.
  [[nodiscard]] bool hold() noexcept {
    // seq_cst: one order with world_pause::asked(); src/sched/quiet_colors.hh says why
    link expected = idle;
    return word_.load(std::memory_order_seq_cst) == idle &&
           word_.compare_exchange_strong(expected, busy, std::memory_order_seq_cst,
                                         std::memory_order_seq_cst);
  }
  /// Lets go of it; false when something has come, so that it stays held. Thread: the holder.
  [[nodiscard]] bool let_go() noexcept {
    link expected = busy;
    return word_.compare_exchange_strong(expected, idle, std::memory_order_release,
                                         std::memory_order_relaxed);
  }
  /// The holder's glance: something has come.
  [[nodiscard]] bool has_more() const noexcept {
    return word_.load(std::memory_order_relaxed) != busy;
  }
  /// The newest frame that has come, or no_link. While no holder takes from here.
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
