// SPDX-License-Identifier: MIT
// A driver's records of descriptors, by number. A reference stays good while other
// descriptors come and go: a completion may open and submit while its caller still uses the
// record.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace heddle {

template <class T>
class fd_table {
 public:
  /// Makes the record if it is missing.
  [[nodiscard]] T& at(int fd) {
    const auto index = static_cast<std::size_t>(fd);
    if (index / page_size < pages_.size()) [[likely]]
      if (T* const page = pages_[index / page_size].get(); page != nullptr) [[likely]]
        return page[index % page_size];
    return make(index);
  }
  /// The record of a descriptor that was seen before.
  [[nodiscard]] T& operator[](int fd) noexcept {
    const auto index = static_cast<std::size_t>(fd);
    return pages_[index / page_size][index % page_size];
  }
  /// The record, or null for a descriptor that was never seen.
  [[nodiscard]] T* find(int fd) noexcept {
    const auto index = static_cast<std::size_t>(fd);
    if (index / page_size >= pages_.size() || pages_[index / page_size] == nullptr) return nullptr;
    return &pages_[index / page_size][index % page_size];
  }

 private:
  [[nodiscard, gnu::noinline]] T& make(std::size_t index) {
    while (index / page_size >= pages_.size()) pages_.emplace_back();
    auto& page = pages_[index / page_size];
    if (page == nullptr) page = std::make_unique<T[]>(page_size);
    return page[index % page_size];
  }

  static constexpr std::size_t page_size = 128;
  std::vector<std::unique_ptr<T[]>> pages_;
};

}  // namespace heddle
