// SPDX-License-Identifier: MIT
// Records over a stream (RFC 5531 section 11): a record is a row of fragments, each with its length
// in front; the highest bit marks the last one.
#pragma once

#include <optional>

#include "heddle/core/task.hh"
#include "heddle/io/chain.hh"
#include "heddle/io/stream.hh"
#include "heddle/sync/condition.hh"

namespace heddle::rpc::detail {

/// Takes records out of received blocks. Short records are copied, so that a block is not held for
/// them; long ones share their blocks.
class record_input {
 public:
  explicit record_input(std::size_t bytes_max) noexcept : bytes_max_(bytes_max) {}
  /// Adds a block that arrived, which is not empty. Call it when next() gave nothing.
  void feed(received&& in);
  /// The next complete record, if there is one. Throws failure(errc::bad_record) for one that is
  /// longer than bytes_max.
  [[nodiscard]] std::optional<chain> next();
  /// Whether a part of a record has arrived.
  [[nodiscard]] bool inside() const noexcept {
    return head_bytes_ != 0 || begun_ || !record_.empty();
  }

 private:
  std::size_t bytes_max_;
  piece block_;             // received and not taken
  std::uint32_t head_ = 0;  // head of the fragment
  unsigned head_bytes_ = 0;
  bool begun_ = false;    // a fragment's head is complete
  std::size_t left_ = 0;  // bytes of the fragment
  chain record_;
};

/// Sends records in the order of put(). A task of its own writes, so a caller that is cancelled
/// leaves no half record behind.
class record_output {
 public:
  /// A peer that takes nothing for `patience` loses its connection.
  record_output(stream to, nanoseconds patience) noexcept
      : stream_(std::move(to)), patience_(patience) {}

  void put(chain&& record);
  /// Bytes that have not left.
  [[nodiscard]] std::size_t bytes() const noexcept { return queued_.size() + sending_; }
  /// No put() follows: run() ends when all has left.
  void finish() noexcept;
  /// Writes until finish(). Fails as the stream does, or with timed_out.
  [[nodiscard]] task<> run();
  /// Notified when bytes have left.
  condition changed;

 private:
  stream stream_;
  nanoseconds patience_;
  chain queued_;
  std::size_t sending_ = 0;
  bool finished_ = false;
  condition news_;
};

}  // namespace heddle::rpc::detail
