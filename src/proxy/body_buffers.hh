// SPDX-License-Identifier: MIT
// Buffers for the parts of answers that a proxy gathers. The allocator returns a large buffer to
// the system when it is freed, and the next one then costs page faults: at 16 KiB an answer, a
// fifth of the proxy's processor time. So the next answer uses the same buffer.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heddle/io/chain.hh"

namespace heddle::http::detail {

/// Thread: one color. Owns: empty strings with capacity, at most `count_max`, each of at most
/// `one_bytes_max`, together at most `bytes_max`.
class body_buffers {
 public:
  body_buffers() { all_.reserve(count_max); }

  /// An empty string, with capacity if there is any.
  [[nodiscard]] std::string take() noexcept {
    if (all_.empty()) return {};
    std::string out = std::move(all_.back());
    all_.pop_back();
    bytes_ -= out.capacity();
    return out;
  }
  void give_back(std::string&& used) noexcept {
    const std::size_t size = used.capacity();
    if (size < one_bytes_min || size > one_bytes_max || bytes_ + size > bytes_max ||
        all_.size() == count_max)
      return;
    bytes_ += size;
    used.clear();
    all_.push_back(std::move(used));
  }

 private:
  static constexpr std::size_t count_max = 64;
  static constexpr std::size_t one_bytes_min = 1024;
  static constexpr std::size_t one_bytes_max = 128 * 1024;
  static constexpr std::size_t bytes_max = 1024 * 1024;

  std::vector<std::string> all_;
  std::size_t bytes_ = 0;  // the capacity of all of them
};

/// A buffer out of the pool, which goes back there at its end. It may end after the proxy.
class lent_buffer {
 public:
  explicit lent_buffer(std::shared_ptr<body_buffers> home) noexcept
      : text(home->take()), home_(std::move(home)) {}
  lent_buffer(lent_buffer&& other) noexcept = default;
  lent_buffer& operator=(lent_buffer&&) = delete;
  ~lent_buffer() {
    if (home_ != nullptr) home_->give_back(std::move(text));
  }

  [[nodiscard]] byte_view bytes() const noexcept { return byte_view(text); }

  std::string text;

 private:
  std::shared_ptr<body_buffers> home_;
};

}  // namespace heddle::http::detail
