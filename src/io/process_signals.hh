// SPDX-License-Identifier: MIT
// Signals of the process as something that descriptors tell of. A handler is installed for each
// signal that somebody listens to, and writes to an eventfd of each listener; whichever thread the
// kernel gives the signal to. (Blocked signals and a signalfd need all threads to block them, also
// those that were there before, and that libraries make.)
//
//   int fd = listen_to_signals(mask);   // readable when one came
//   int which = take_signal(mask);      // once for each that came
//   stop_listening(fd);                 // then close it
//
// Thread: any.
#pragma once

#include <cstdint>

namespace heddle::detail {

/// A new descriptor, or -errno. What comes is given to one of those who listen to it. A signal that
/// the calling thread blocks is unblocked there: one thread must take it.
[[nodiscard]] int listen_to_signals(std::uint64_t mask) noexcept;
/// The number of one that came; 0: none. A standard signal that came again before it was taken
/// counts once, one of the real-time numbers each time.
[[nodiscard]] int take_signal(std::uint64_t mask) noexcept;
/// Who listened last gives the signal's action back, and what nobody took is raised again then.
void stop_listening(int fd) noexcept;
/// Blocks again on this thread what was unblocked on it and nobody listens to any more.
void block_again() noexcept;

}  // namespace heddle::detail
