// SPDX-License-Identifier: MIT
// Records with numbers of 32 bits and addresses that stay: chunks of equal records and one free
// list, which runs through their member `link`. Records are made once and used again as they are,
// so that memory they own is kept for the next use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace heddle::tcp {

inline constexpr std::uint32_t no_index = UINT32_MAX;

template <class T, std::size_t PerChunk>
class pool {
 public:
  /// Takes a free record; no_index if `limit` records are in use.
  [[nodiscard]] std::uint32_t take(std::size_t limit) {
    if (used_ >= limit) return no_index;
    if (free_ == no_index) {
      const auto base = static_cast<std::uint32_t>(chunks_.size() * PerChunk);
      chunks_.push_back(std::make_unique<T[]>(PerChunk));
      for (std::uint32_t i = PerChunk; i > 0; --i) {
        (*this)[base + i - 1].link = free_;
        free_ = base + i - 1;
      }
    }
    const std::uint32_t index = free_;
    free_ = (*this)[index].link;
    ++used_;
    return index;
  }
  void give_back(std::uint32_t index) noexcept {
    (*this)[index].link = free_;
    free_ = index;
    --used_;
  }
  [[nodiscard]] T& operator[](std::uint32_t index) const noexcept {
    return chunks_[index / PerChunk][index % PerChunk];
  }
  [[nodiscard]] bool made(std::uint32_t index) const noexcept {
    return index / PerChunk < chunks_.size();
  }
  [[nodiscard]] std::size_t used() const noexcept { return used_; }

 private:
  std::vector<std::unique_ptr<T[]>> chunks_;
  std::uint32_t free_ = no_index;
  std::size_t used_ = 0;
};

}  // namespace heddle::tcp
