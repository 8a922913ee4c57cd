// SPDX-License-Identifier: MIT
// Bytes in and out of a descriptor, as awaiters: read fills its buffer, write sends everything, and
// the _some forms do one transfer. The count is current at all times: to have it after a
// failure, pass a counter.
#pragma once

#include <memory>

#include "heddle/io/buffer.hh"
#include "heddle/io/chain.hh"
#include "heddle/io/detail/descriptor_call.hh"

namespace heddle {

namespace detail {

/// The arguments of transfer_awaiter; writes read from `bytes` only.
struct transfer_asked {
  byte_span bytes;
  std::size_t* counter = nullptr;
  bool write = false;
  bool some = false;
};

/// A transfer of bytes in steps. It counts them, and the caller's counter is current at all times.
class counting_awaiter : public lane_awaiter<operation> {
 public:
  std::size_t await_resume() const {
    check_outcome(outcome);
    return count_;
  }
  [[nodiscard]] result<std::size_t> await_result() const noexcept {
    if (outcome < 0) return std::unexpected(kernel_error(outcome));
    return count_;
  }

 protected:
  counting_awaiter(pinned_state&& on, lane_role what, bool is_write, std::size_t* counter,
                   bool is_some, const wait_kind& kind, complete_function completed) noexcept;
  ~counting_awaiter();
  void add(std::size_t count) noexcept {
    count_ += count;
    if (counter_ != nullptr) *counter_ = count_;
  }
  /// Takes the result of a step whose bytes are counted; returns whether the step was the last.
  [[nodiscard]] bool ends(std::int64_t got, bool satisfied) noexcept;

  std::size_t count_ = 0;
  std::size_t* counter_;
};

class transfer_awaiter : public counting_awaiter {
 public:
  transfer_awaiter(pinned_state&& on, transfer_asked&& asked) noexcept;

  /// The lane calls these: prepare the next step; take a step's result and return whether it was
  /// the last.
  void prepare() noexcept;
  [[nodiscard]] bool step(std::int64_t got) noexcept;
  /// The lane calls this: takes bytes that arrived in a block; returns how many.
  std::size_t take(byte_view arrived) noexcept;
  [[nodiscard]] bool satisfied() const noexcept { return count_ == size_ || (some && count_ > 0); }
  /// Appends the bytes that are still to be sent. Throws std::bad_alloc.
  void add_left(chain& to) const;

 private:
  std::byte* bytes_;
  std::size_t size_;
};

struct chain_asked {
  chain out;
  std::size_t* counter = nullptr;
  bool some = false;
};

class chain_awaiter : public counting_awaiter {
 public:
  chain_awaiter(pinned_state&& on, chain_asked&& asked) noexcept;
  ~chain_awaiter();

  /// The lane calls these, as for transfer_awaiter.
  void prepare() noexcept;
  [[nodiscard]] bool step(std::int64_t got) noexcept;
  [[nodiscard]] bool satisfied() const noexcept { return out_.empty() || (some && count_ > 0); }
  void add_left(chain& to) const;

 private:
  struct vectors;  // the system's array of pieces, made when there is more than one

  chain out_;
  vectors* vectors_ = nullptr;
};

/// Waits until there is room to send.
class writable_awaiter : public lane_awaiter<operation> {
 public:
  explicit writable_awaiter(pinned_state&& on, nothing_more = {}) noexcept;
  ~writable_awaiter();

  /// The lane calls these, as for transfer_awaiter.
  void prepare() noexcept;
  [[nodiscard]] bool step(std::int64_t got) noexcept;
  [[nodiscard]] static bool satisfied() noexcept { return false; }
  static void add_left(chain&) noexcept {}
};

/// A read that fills `into`, or takes what there is.
[[nodiscard]] inline transfer_asked reading(byte_span into, std::size_t* counter = nullptr,
                                            bool some = false) noexcept {
  return {into, counter, false, some};
}
[[nodiscard]] inline transfer_asked writing(byte_view out, std::size_t* counter = nullptr,
                                            bool some = false) noexcept {
  return {{const_cast<std::byte*>(out.data()), out.size()}, counter, true, some};
}

}  // namespace detail

/// Moves bytes between a buffer and a descriptor; gives how many.
///
/// Resumes: its frame, from the worker's queue; or it does not suspend when the driver is done at
/// once. Owns: nothing; the buffer and the counter must stay until it has ended. Cancel: ends with
/// operation_canceled when the driver has let go; bytes moved by then are counted. Fails: as the
/// system says; broken_pipe or connection_reset when the peer is gone.
using transfer = detail::descriptor_call<detail::transfer_awaiter, detail::transfer_asked>;

/// Waits until the stream takes bytes again, behind the writes that were asked for before. Cancel:
/// ends when the driver has let go.
using writable_wait = detail::descriptor_call<detail::writable_awaiter>;

/// Sends a chain, several pieces a system call. As transfer, and it owns the chain.
using chain_transfer = detail::descriptor_call<detail::chain_awaiter, detail::chain_asked>;

}  // namespace heddle
