// SPDX-License-Identifier: MIT
// The input of a connected socket for frames that keep no record of their wait: it lies in the
// socket, so an idle connection is its frame and its socket and nothing else. There is room for one
// such reader; others use awaiters. Room abi uses it for compiled programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "heddle/io/buffer.hh"
#include "heddle/io/detail/lane.hh"

namespace heddle::detail {

/// A socket's state by a reader that the socket knows.
///
/// Thread: the color that color() names, or any if it names none. Lifetime: that of the state.
class socket_input {
 public:
  explicit socket_input(descriptor_state& of) noexcept : s_(&of) {}

  /// The answer of wait() when the frame is parked.
  static constexpr std::int32_t parked = std::numeric_limits<std::int32_t>::min();
  /// The answer of wait() when other readers of the socket wait: it has a place for one only.
  static constexpr std::int32_t occupied = parked + 1;
  /// Parks the frame until there is something to read. 1: there is; 0: the stream has ended;
  /// else -errno, `parked` or `occupied`. After its wake the frame asks again. Cancel: at once.
  [[nodiscard]] std::int32_t wait(frame& waiting, worker& w) noexcept;
  /// Copies bytes that have arrived; gives how many, 0 if none are there.
  [[nodiscard]] std::size_t read_now(byte_span into, worker& w) noexcept;
  /// The color in which the driver receives ahead of the readers; no_color if it does not.
  [[nodiscard]] std::uint32_t color() const noexcept;

  /// A pointer of the user's that the socket keeps; null at first.
  [[nodiscard]] void* kept() const noexcept;
  void keep(void* what) noexcept;

 private:
  descriptor_state* s_;
};

}  // namespace heddle::detail
