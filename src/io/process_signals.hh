// SPDX-License-Identifier: MIT
// Signals of the process, delivered through descriptors. A handler is installed for each
// signal that has a listener, and writes to an eventfd of each listener, on any thread that the
// kernel gives the signal to. (Blocked signals and a signalfd need all threads to block them, also
// those that were there before, and those that libraries make.)
//
//   int fd = listen_to_signals(mask);   // readable when one came
//   int which = take_signal(mask);      // once for each that came
//   stop_listening(fd);                 // then close it
//
// Thread: any.
#pragma once

#include <cstdint>

namespace heddle::detail {

/// Makes a descriptor for signals; -errno if it fails. Each signal is given to one of its
/// listeners. A signal that the calling thread blocks is unblocked there, because one thread must
/// take it.
[[nodiscard]] int listen_to_signals(std::uint64_t mask) noexcept;
/// Returns the number of a signal that came; 0 if there is none. A standard signal that came again
/// before it was taken counts once; a real-time signal counts each time.
[[nodiscard]] int take_signal(std::uint64_t mask) noexcept;
/// Ends a listener. The last one puts the signal's action back; signals that were not taken are
/// raised again.
void stop_listening(int fd) noexcept;
/// Blocks again on this thread the signals that were unblocked on it and have no listener any more.
void block_again() noexcept;

}  // namespace heddle::detail
