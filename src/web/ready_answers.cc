// SPDX-License-Identifier: MIT
// A block of pages is filled from its beginning. When it is full, all answers in it are dropped;
// those that are still requested are built again in a new block.
#include "web/ready_answers.hh"

#include <algorithm>
#include <cstring>
#include <new>

namespace heddle::http {
namespace {

// With fewer answers per block, blocks would fill too often; large bodies gain little from one call
// less.
constexpr std::size_t answers_to_a_block_min = 4;
constexpr std::size_t line_bytes = 64;  // an answer begins with a cache line

}  // namespace

ready_answers::entry* ready_answers::entry_of(const piece& body) noexcept {
  // A body in pages begins at a page; Fibonacci hashing spreads the page numbers.
  const auto page = reinterpret_cast<std::uintptr_t>(body.bytes().data()) >> 12;
  entry_set& set = sets_[(page * 0x9e3779b97f4a7c15u) >> (64 - sets_log2)];
  for (entry& e : set)
    if (e.body_at == body.bytes().data() && e.body_size == body.size()) [[likely]]
      return &e;
  const auto asked = [](const entry& e) { return std::uint64_t{e.missed} + e.found; };
  entry& least = *std::ranges::min_element(set, {}, asked);
  least.missed /= 2;
  least.found /= 2;
  if (asked(least) != 0) return nullptr;
  least = {};
  least.body_at = body.bytes().data();
  least.body_size = body.size();
  return &least;
}

const piece* ready_answers::find(std::string_view head, const piece& body) noexcept {
  entry* const at = entry_of(body);
  if (at == nullptr) [[unlikely]]
    return nullptr;
  entry& e = *at;
  if (e.whole.size() == head.size() + body.size() &&
      std::memcmp(e.whole.bytes().data(), head.data(), head.size()) == 0) [[likely]] {
    ++e.found;
    return &e.whole;
  }
  return ++e.missed < e.worth ? nullptr : make(e, head, body);
}

const piece* ready_answers::make(entry& e, std::string_view head, const piece& body) noexcept {
  e.worth = e.found >= worth_min ? worth_min : std::min(2 * e.worth, worth_max);
  e.missed = 0;
  e.found = 0;
  const std::size_t size = head.size() + body.size();
  std::byte* const at = room_for(size);
  if (at == nullptr) return nullptr;
  std::memcpy(at, head.data(), head.size());
  std::memcpy(at + head.size(), body.bytes().data(), body.size());
  e.body = body;
  e.whole = block_.slice(static_cast<std::size_t>(at - memory_), size);
  return &e.whole;
}

std::byte* ready_answers::room_for(std::size_t bytes) noexcept {
  if (bytes > bytes_max_ / answers_to_a_block_min) return nullptr;
  if (memory_ == nullptr || bytes > bytes_max_ - used_) begin_block();
  if (memory_ == nullptr) return nullptr;
  std::byte* const at = memory_ + used_;
  used_ = std::min((used_ + bytes + line_bytes - 1) / line_bytes * line_bytes, bytes_max_);
  return at;
}

/// Starts a new block. Answers of the last one are rebuilt when they are requested again.
void ready_answers::begin_block() noexcept {
  for (entry_set& set : sets_)
    for (entry& e : set) {
      e.body = {};
      e.whole = {};
    }
  block_ = {};
  memory_ = nullptr;
  used_ = 0;
  page_block fresh = pages_.allocate(bytes_max_);
  if (!fresh) return;
  std::byte* const memory = fresh.writable().data();
  try {
    block_ = piece::held_by(std::move(fresh));
    memory_ = memory;
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace heddle::http
