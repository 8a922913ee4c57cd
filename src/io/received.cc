// SPDX-License-Identifier: MIT
// Gives received bytes back to their lender.
#include "heddle/io/received.hh"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

namespace heddle {

received received::copy_of(byte_view bytes) {
  if (bytes.size() > std::numeric_limits<std::uint32_t>::max()) throw std::bad_alloc();
  auto* const memory = static_cast<std::byte*>(std::malloc(bytes.empty() ? 1 : bytes.size()));
  if (memory == nullptr) throw std::bad_alloc();
  if (!bytes.empty()) std::memcpy(memory, bytes.data(), bytes.size());
  return owned(memory, 0, static_cast<std::uint32_t>(bytes.size()));
}

void received::release() noexcept {
  if (data_ == nullptr) return;
  if (lender_ != nullptr) [[likely]] {
    lender_->return_block(block_);
  } else {
    std::free(data_ - block_);
  }
  lender_ = nullptr;
  data_ = nullptr;
  len_ = 0;
}

}  // namespace heddle
