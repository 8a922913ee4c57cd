// SPDX-License-Identifier: MIT
// A cache of frequent answers with head and body adjacent in memory, so that one system call sends
// both. A head contains the date and so lasts one second; each second the answer is built again.
// That copies the body, which pays off if sixteen more requests follow.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "heddle/io/page_store.hh"

namespace heddle::http {

/// Thread: one color. Memory: `bytes_max` in one block of pages, and the bodies of its answers,
/// which it keeps alive. A new block replaces a full one.
class ready_answers {
 public:
  explicit ready_answers(std::size_t bytes_max) noexcept : bytes_max_(bytes_max) {}

  /// The head followed by the body, as one piece in pages. Null until the pair has been sent often,
  /// or if there are no pages. A body is identified by its address. Valid until the next call.
  [[nodiscard]] const piece* find(std::string_view head, const piece& body) noexcept;

 private:
  // How often an answer must be sent before it is cached. The number doubles each time the cached
  // answer is found too rarely to pay for the copy, for example if each request has a different
  // head.
  static constexpr std::uint32_t worth_min = 16;
  static constexpr std::uint32_t worth_max = 4096;
  struct entry {
    const std::byte* body_at = nullptr;
    std::size_t body_size = 0;
    std::uint32_t missed = 0;  // since it was built, or first seen
    std::uint32_t found = 0;
    std::uint32_t worth = worth_min;
    piece body;  // kept, so that its address is not reused; empty without `whole`
    piece whole;
  };
  // A body may use any entry of its set, so that two bodies requested in turn do not evict each
  // other because of their addresses.
  static constexpr unsigned sets_log2 = 4;
  using entry_set = std::array<entry, 4>;

  /// The entry of this body; null while all entries of its set are requested more often.
  [[nodiscard]] entry* entry_of(const piece& body) noexcept;
  [[nodiscard]] const piece* make(entry& e, std::string_view head, const piece& body) noexcept;
  [[nodiscard]] std::byte* room_for(std::size_t bytes) noexcept;
  void begin_block() noexcept;

  std::size_t bytes_max_;
  page_store pages_;
  piece block_;
  std::byte* memory_ = nullptr;  // of the block
  std::size_t used_ = 0;         // bytes of the block in use
  std::array<entry_set, std::size_t{1} << sets_log2> sets_;
};

}  // namespace heddle::http
