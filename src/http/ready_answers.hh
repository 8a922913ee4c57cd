// SPDX-License-Identifier: MIT
// What is sent again and again, its head and its body in one place, so that one system call sends
// it. A head lasts a second, because it says the date, so such an answer is made anew each second.
// That is a copy of the body, and worth it where sixteen more follow.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "heddle/io/page_store.hh"

namespace heddle::http {

/// Thread: one color. Memory: `bytes_max`, in one block of pages, and a block's bodies, which it
/// keeps. When the block is full, another takes its place.
class ready_answers {
 public:
  explicit ready_answers(std::size_t bytes_max) noexcept : bytes_max_(bytes_max) {}

  /// These bytes, one behind the other, as one piece that stands in pages; null as long as they
  /// were not sent often, and where there are no pages. A body is known by its place in memory.
  /// Good until the next call.
  [[nodiscard]] const piece* find(std::string_view head, const piece& body) noexcept;

 private:
  // Sendings that an answer must have had to be made ready; doubled each time when it then was not
  // found as often as makes up for the copy, as with heads of which each is of one request.
  static constexpr std::uint32_t worth_min = 16;
  static constexpr std::uint32_t worth_max = 4096;
  struct entry {
    const std::byte* body_at = nullptr;
    std::size_t body_size = 0;
    std::uint32_t missed = 0;  // since it was made, or first seen
    std::uint32_t found = 0;
    std::uint32_t worth = worth_min;
    piece body;  // kept, so that no other comes to stand in its place; empty where `whole` is
    piece whole;
  };
  // A body may stand in any entry of its set: two that are asked for in turn do not drive each
  // other out, however their addresses fall.
  static constexpr unsigned sets_log2 = 4;
  using entry_set = std::array<entry, 4>;

  /// The entry of this body; null while what stands in its set is asked for more often.
  [[nodiscard]] entry* entry_of(const piece& body) noexcept;
  [[nodiscard]] const piece* make(entry& e, std::string_view head, const piece& body) noexcept;
  [[nodiscard]] std::byte* room_for(std::size_t bytes) noexcept;
  void begin_block() noexcept;

  std::size_t bytes_max_;
  page_store pages_;
  piece block_;
  std::byte* memory_ = nullptr;  // of the block
  std::size_t used_ = 0;         // likewise
  std::array<entry_set, std::size_t{1} << sets_log2> sets_;
};

}  // namespace heddle::http
