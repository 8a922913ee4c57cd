// SPDX-License-Identifier: MIT
// A whole stream: a sender and a receiver in this process, each with its socket on the loopback
// interface, and what came of it.
#pragma once

#include <span>
#include <string>

#include "heddle/core/task.hh"
#include "options.hh"
#include "times.hh"

namespace player {

struct stream_result {
  counters sender;
  counters receiver;
  std::uint64_t digest = 0;  ///< of the file
  heddle::nanoseconds took{};
  bool timed = false;       ///< stream_options::times
  raise_times times;        ///< of both sides
  double processor_ns = 0;  ///< of the process, with all that is not in handlers

  /// Every byte was shown, in order.
  [[nodiscard]] bool whole() const noexcept { return receiver.digest == digest; }
  [[nodiscard]] std::uint64_t frames_lost() const noexcept {
    return sender.frames - receiver.frames;
  }
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string json() const;

 private:
  [[nodiscard]] std::string times_json() const;
  [[nodiscard]] std::string times_text() const;
};

/// Sends `file`, which must stay, and shows it. Ends when both sides have.
/// Fails with std::invalid_argument when the options contradict each other.
[[nodiscard]] heddle::task<stream_result> run_stream(stream_options o,
                                                     std::span<const std::byte> file);

}  // namespace player
