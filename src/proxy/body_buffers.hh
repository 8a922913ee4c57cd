// SPDX-License-Identifier: MIT
// Buffers for the parts of answers that a proxy gathers, out of a pool.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "heddle/http/detail/spare_buffers.hh"
#include "heddle/io/chain.hh"

namespace heddle::http::detail {

/// Without them an answer of 16 KiB would spend a fifth of the proxy's processor time on page
/// faults.
using body_buffers = spare_buffers<1024, 128 * 1024, 1024 * 1024>;

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
