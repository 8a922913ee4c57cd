// SPDX-License-Identifier: MIT
// Whether several workers sleep at one moment, although they are asked one after the other. A
// worker that was asked early may be woken by one that is asked late. So each is asked twice, and
// each numbers its sleeps: a worker that gives the same number twice slept all the time in between.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace heddle {

inline constexpr std::size_t workers_max = 64;

/// look(i) gives the number of the sleep that worker i is in, from 1, or 0 when it is awake or has
/// been sent something. The state that it reads changes only under that worker's lock.
template <class Look>
[[nodiscard]] bool quiescent_together(std::size_t workers, Look&& look) {
  std::array<std::uint64_t, workers_max> sleeps;
  for (std::size_t i = 0; i != workers; ++i)
    if ((sleeps[i] = look(i)) == 0) return false;
  for (std::size_t i = 0; i != workers; ++i)
    if (look(i) != sleeps[i]) return false;
  return true;
}

}  // namespace heddle
