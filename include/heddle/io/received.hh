// SPDX-License-Identifier: MIT
// Data as the driver received it, without a copy: a block of the driver's, on loan. Connections
// that wait hold no buffer; one is theirs only while they look at what came. When blocks are short,
// it is a copy in memory of its own.
#pragma once

#include <utility>

#include "heddle/io/buffer.hh"
#include "heddle/io/descriptor_call.hh"

namespace heddle {

class driver;

namespace detail {
class socket_state;
}

/// Some bytes that arrived; empty at the end of the stream.
///
/// Owns: the block, until release() or its end. Blocks are few (driver_options::block_count): give
/// them back before a long wait.
///
///   while (received in = co_await conn.receive()) co_await conn.write(in.text());
class received {
 public:
  received() noexcept = default;
  received(received&& other) noexcept
      : driver_(std::exchange(other.driver_, nullptr)),
        data_(std::exchange(other.data_, nullptr)),
        block_(other.block_),
        len_(std::exchange(other.len_, 0)) {}
  received& operator=(received&& other) noexcept {
    if (this != &other) {
      release();
      driver_ = std::exchange(other.driver_, nullptr);
      data_ = std::exchange(other.data_, nullptr);
      block_ = other.block_;
      len_ = std::exchange(other.len_, 0);
    }
    return *this;
  }
  ~received() { release(); }

  /// Gives the block back to the driver; the bytes are gone.
  void release() noexcept;
  /// A block of the driver's, which others may need; else memory of its own.
  [[nodiscard]] bool on_loan() const noexcept { return driver_ != nullptr; }

  [[nodiscard]] explicit operator bool() const noexcept { return len_ != 0; }
  [[nodiscard]] bool empty() const noexcept { return len_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return len_; }
  [[nodiscard]] byte_view data() const noexcept { return {data_, len_}; }
  /// The same bytes, writable in place (a parser may lower-case names).
  [[nodiscard]] byte_span writable() const noexcept { return {data_, len_}; }
  [[nodiscard]] std::string_view text() const noexcept { return data().text(); }

 private:
  friend class detail::socket_state;
  received(driver* from, std::byte* data, std::uint32_t block, std::uint32_t len) noexcept
      : driver_(from), data_(data), block_(block), len_(len) {}

  driver* driver_ = nullptr;  // of the block; null for memory of its own
  std::byte* data_ = nullptr;
  std::uint32_t block_ = 0;  // of memory of its own: how far data_ is from its beginning
  std::uint32_t len_ = 0;
};

namespace detail {

class receive_awaiter : public wait, public lane_entry {
 public:
  explicit receive_awaiter(pinned_state&& on, nothing_more = {}) noexcept;

  [[nodiscard]] static bool await_ready() noexcept { return false; }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> h) noexcept {
    return begin(*this, link_of(h));
  }
  received await_resume() {
    check_outcome(outcome);
    return std::move(data_);
  }
  [[nodiscard]] result<received> await_result() noexcept {
    if (outcome < 0) return std::unexpected(kernel_error(outcome));
    return std::move(data_);
  }

  /// Used by the lane.
  void give(received&& data) noexcept { data_ = std::move(data); }

 private:
  received data_;
};

class readable_awaiter : public wait, public lane_entry {
 public:
  explicit readable_awaiter(pinned_state&& on, nothing_more = {}) noexcept;

  [[nodiscard]] static bool await_ready() noexcept { return false; }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> h) noexcept {
    return begin(*this, link_of(h));
  }
  [[nodiscard]] bool await_resume() const {
    check_outcome(outcome);
    return outcome > 0;
  }
  [[nodiscard]] result<bool> await_result() const noexcept {
    if (outcome < 0) return std::unexpected(kernel_error(outcome));
    return outcome > 0;
  }
};

}  // namespace detail

/// Waits for the next block. Cancel: at once, and nothing that arrived is lost.
using receive_wait = detail::descriptor_call<detail::receive_awaiter>;

/// Waits until there is data (true) or the stream has ended (false), holding almost nothing
/// meanwhile. Cancel: at once.
using readable_wait = detail::descriptor_call<detail::readable_awaiter>;

}  // namespace heddle
