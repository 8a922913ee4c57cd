// SPDX-License-Identifier: MIT
// What one stream is asked to be, with every limit, and what came of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "digest.hh"
#include "heddle/base/clock.hh"

namespace player {

struct stream_options {
  /// Which micro-protocols, besides those without which nothing arrives; see composition.hh.
  std::string protocols = "parity,flow_control,acknowledgement,round_trip,guard,adaptation";
  std::uint32_t frames_per_s = 100;
  std::uint32_t frame_bytes = 8192;    ///< of a frame as the source cuts the file
  std::uint32_t segment_bytes = 1200;  ///< of a segment's payload; at most data_max
  std::uint32_t group_len = 8;         ///< segments that share a parity segment; at most 16
  std::uint32_t window = 32;           ///< segments under way at first
  std::uint32_t window_max = 512;
  std::uint32_t tries_max = 10;  ///< a segment is sent so often at most
  heddle::nanoseconds ack_delay = std::chrono::milliseconds(2);
  heddle::nanoseconds control_interval = std::chrono::milliseconds(20);
  heddle::nanoseconds buffer = std::chrono::milliseconds(100);  ///< from arrival to display
  heddle::nanoseconds patience = std::chrono::seconds(1);       ///< for a frame that is late
  heddle::nanoseconds silence_max = std::chrono::seconds(3);    ///< then the session is over
  double loss = 0;         ///< share of datagrams that are dropped on purpose, both ways
  std::uint64_t seed = 1;  ///< which ones

  bool times = false;  ///< count the processor time in handlers

  std::uint32_t outbox_max = 512;  ///< segments that wait for the socket; more are dropped
  std::uint32_t held_max = 4096;   ///< segments that wait for the window; then the source pauses
  std::uint32_t frames_ahead_max = 1024;  ///< frames that the receiver keeps
  std::uint32_t frame_bytes_max = 1 << 20;
};

/// Fails with std::invalid_argument that says which option, and what it may be.
void check(const stream_options& o);

/// What one side counted.
struct counters {
  std::uint64_t segments = 0;                ///< of data, sent for the first time
  std::uint64_t sent_again = 0;              ///< of data, sent because one was lost
  std::uint64_t parities = 0;                ///< sent
  std::uint64_t acks = 0;                    ///< sent
  std::uint64_t injected = 0;                ///< datagrams that stream_options::loss dropped
  std::uint64_t overflows = 0;               ///< segments that found the outbox full
  std::uint64_t abandoned = 0;               ///< segments that were sent tries_max times
  std::uint64_t received = 0;                ///< datagrams
  std::uint64_t foreign = 0;                 ///< datagrams that are no segment of this session
  std::uint64_t duplicates = 0;              ///< segments that had come before
  std::uint64_t out_of_order = 0;            ///< segments that came behind a later one
  std::uint64_t recovered = 0;               ///< segments made from their group
  std::uint64_t frames = 0;                  ///< sent, or shown
  std::uint64_t frames_late = 0;             ///< shown behind their time
  std::uint64_t frames_lost = 0;             ///< not shown
  std::uint64_t bytes = 0;                   ///< sent, or shown
  std::uint64_t digest = digest_of_nothing;  ///< of what was shown
};

}  // namespace player
