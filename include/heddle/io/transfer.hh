// SPDX-License-Identifier: MIT
// Bytes in and out of a descriptor, as awaiters: read fills its buffer, write sends everything, and
// the _some forms do one transfer. The count is current at all times: whoever wants it after a
// failure passes a counter.
#pragma once

#include <memory>

#include "heddle/io/buffer.hh"
#include "heddle/io/chain.hh"
#include "heddle/io/lane.hh"

namespace heddle {

/// Moves bytes between a buffer and a descriptor.
///
/// Resumes: its frame, from the worker's queue; or it does not suspend when the driver is done at
/// once. Owns: nothing; the buffer and the counter must stay until it has ended. Cancel: ends with
/// operation_canceled when the driver has let go; bytes moved by then are counted. Fails: as the
/// system says; broken_pipe or connection_reset when the peer is gone.
class [[nodiscard("co_await it")]] transfer : public operation, public detail::lane_entry {
 public:
  transfer(transfer&& other) noexcept;
  ~transfer();

  [[nodiscard]] static bool await_ready() noexcept { return false; }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> h) noexcept {
    return begin(*this, link_of(h));
  }
  std::size_t await_resume() const {
    detail::check_outcome(outcome);
    return count_;
  }
  [[nodiscard]] result<std::size_t> await_result() const noexcept {
    if (outcome < 0) return std::unexpected(kernel_error(outcome));
    return count_;
  }

  /// Used by the lane: prepares the next step; takes what a step gave and says whether it was the
  /// last.
  void prepare() noexcept;
  [[nodiscard]] bool step(std::int64_t got) noexcept;
  /// Used by the lane: takes bytes that arrived in a block; returns how many.
  std::size_t take(byte_view arrived) noexcept;
  [[nodiscard]] bool satisfied() const noexcept { return count_ == size_ || (some_ && count_ > 0); }

 private:
  friend class stream;
  friend class pipe_reader;
  friend class pipe_writer;
  transfer(detail::descriptor_state* on, bool is_write, byte_span bytes, bool some,
           std::size_t* counter) noexcept;
  void add(std::size_t count) noexcept {
    count_ += count;
    if (counter_ != nullptr) *counter_ = count_;
  }

  std::byte* bytes_;
  std::size_t size_;
  std::size_t count_ = 0;
  std::size_t* counter_;
  bool some_;
};

/// Sends a chain, several pieces a system call. As transfer, and it owns the chain.
class [[nodiscard("co_await it")]] chain_transfer : public operation, public detail::lane_entry {
 public:
  chain_transfer(chain_transfer&& other) noexcept;
  ~chain_transfer();

  [[nodiscard]] static bool await_ready() noexcept { return false; }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> h) noexcept {
    return begin(*this, link_of(h));
  }
  std::size_t await_resume() const {
    detail::check_outcome(outcome);
    return count_;
  }
  [[nodiscard]] result<std::size_t> await_result() const noexcept {
    if (outcome < 0) return std::unexpected(kernel_error(outcome));
    return count_;
  }

  void prepare() noexcept;
  [[nodiscard]] bool step(std::int64_t got) noexcept;
  [[nodiscard]] bool satisfied() const noexcept { return out_.empty(); }

 private:
  friend class stream;
  friend class pipe_writer;
  struct vectors;  // what the system wants to see, made when there is more than one piece
  chain_transfer(detail::descriptor_state* on, chain&& out, std::size_t* counter) noexcept;

  chain out_;
  std::size_t count_ = 0;
  std::size_t* counter_;
  vectors* vectors_ = nullptr;
};

}  // namespace heddle
