// SPDX-License-Identifier: MIT
// Data as it was received, without a copy: a block on loan from the driver, or from the layer that
// made the bytes. A connection that waits holds no buffer; it has a block only while its task reads
// the bytes. When blocks are scarce, it is a copy in memory of its own.
#pragma once

#include <utility>

#include "heddle/base/detail/block_lender.hh"
#include "heddle/io/buffer.hh"
#include "heddle/io/detail/descriptor_call.hh"

namespace heddle {

/// Some bytes that arrived; empty at the end of the stream.
///
/// Owns: the block, until release() or its end. Blocks are few (driver_options::block_count): give
/// them back before a long wait.
///
///   while (received in = co_await conn.receive()) co_await conn.write(in.text());
class received {
 public:
  received() noexcept = default;
  /// Bytes in a block, which goes back to its lender, under its number, when this object ends.
  received(block_lender& from, std::uint32_t number, byte_span bytes) noexcept
      : lender_(&from),
        data_(bytes.data()),
        block_(number),
        len_(static_cast<std::uint32_t>(bytes.size())) {}
  /// Bytes in memory of std::malloc(), which this object frees; they begin at `from` in it.
  [[nodiscard]] static received owned(std::byte* memory, std::uint32_t from,
                                      std::uint32_t size) noexcept {
    received r;
    r.data_ = memory + from;
    r.block_ = from;
    r.len_ = size;
    return r;
  }
  /// Copies the bytes, which must be less than 4 GiB. Throws std::bad_alloc.
  [[nodiscard]] static received copy_of(byte_view bytes);

  received(received&& other) noexcept
      : lender_(std::exchange(other.lender_, nullptr)),
        data_(std::exchange(other.data_, nullptr)),
        block_(other.block_),
        len_(std::exchange(other.len_, 0)) {}
  received& operator=(received&& other) noexcept {
    if (this != &other) {
      release();
      lender_ = std::exchange(other.lender_, nullptr);
      data_ = std::exchange(other.data_, nullptr);
      block_ = other.block_;
      len_ = std::exchange(other.len_, 0);
    }
    return *this;
  }
  ~received() { release(); }

  /// Gives the block back; the bytes are gone.
  void release() noexcept;
  /// Whether the bytes are in a block that others may need, not in memory of their own.
  [[nodiscard]] bool on_loan() const noexcept { return lender_ != nullptr; }

  [[nodiscard]] explicit operator bool() const noexcept { return len_ != 0; }
  [[nodiscard]] bool empty() const noexcept { return len_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return len_; }
  [[nodiscard]] byte_view data() const noexcept { return {data_, len_}; }
  /// The bytes of data(), writable in place (a parser may lower-case names).
  [[nodiscard]] byte_span writable() const noexcept { return {data_, len_}; }
  [[nodiscard]] std::string_view text() const noexcept { return data().text(); }
  /// Forgets the first bytes, at most size().
  void remove_prefix(std::size_t bytes) noexcept {
    data_ += bytes;
    len_ -= static_cast<std::uint32_t>(bytes);
    if (lender_ == nullptr) block_ += static_cast<std::uint32_t>(bytes);
  }
  /// Forgets all but the first bytes; at most size() and at least one.
  void truncate(std::size_t bytes) noexcept { len_ = static_cast<std::uint32_t>(bytes); }

 private:
  block_lender* lender_ = nullptr;  // null: the bytes are in memory of their own
  std::byte* data_ = nullptr;
  std::uint32_t block_ = 0;  // block number, or data_'s distance from its own memory's beginning
  std::uint32_t len_ = 0;
};

namespace detail {

class receive_awaiter : public lane_awaiter<wait> {
 public:
  explicit receive_awaiter(pinned_state&& on, nothing_more = {}) noexcept;

  received await_resume() {
    check_outcome(outcome);
    return std::move(data_);
  }
  [[nodiscard]] result<received> await_result() noexcept {
    if (outcome < 0) return std::unexpected(kernel_error(outcome));
    return std::move(data_);
  }

  /// The lane calls this to hand over the bytes.
  void give(received&& data) noexcept { data_ = std::move(data); }

 private:
  received data_;
};

class readable_awaiter : public lane_awaiter<wait> {
 public:
  explicit readable_awaiter(pinned_state&& on, nothing_more = {}) noexcept;

  [[nodiscard]] bool await_resume() const {
    check_outcome(outcome);
    return outcome > 0;
  }
  [[nodiscard]] result<bool> await_result() const noexcept {
    if (outcome < 0) return std::unexpected(kernel_error(outcome));
    return outcome > 0;
  }
};

/// The wait of stream::detach(), which is served after the readers that came before it.
class detach_awaiter : public lane_awaiter<wait> {
 public:
  explicit detach_awaiter(pinned_state&& on, nothing_more = {}) noexcept;
};

}  // namespace detail

/// Waits for the next block. Cancel: at once, and nothing that arrived is lost.
using receive_wait = detail::descriptor_call<detail::receive_awaiter>;

/// Waits until there is data (true) or the stream has ended (false), holding almost nothing
/// meanwhile. Cancel: at once.
using readable_wait = detail::descriptor_call<detail::readable_awaiter>;

/// Waits until the driver receives nothing more ahead of its readers. Cancel: at once.
using detach_wait = detail::descriptor_call<detail::detach_awaiter>;

}  // namespace heddle
