// SPDX-License-Identifier: MIT
// A table of the connections that were challenged in this second. It is made with the first
// challenge, and a new second makes all of its entries free at once.
#include "tcp/challenge.hh"

#include <array>
#include <bit>
#include <new>

namespace heddle::tcp {

void challenge_budget::begin_second(std::uint32_t second, std::uint32_t all,
                                    const siphash_key& key) noexcept {
  second_ = second;
  const std::array<std::uint64_t, 1> words = {second};
  const std::uint64_t random = siphash<2, 4>(key, words);
  left_ = all == 0 ? 0 : all - all / 2 + static_cast<std::uint32_t>(random % (all / 2 * 2 + 1));
  const std::size_t most = std::size_t{all} + all / 2;
  const std::size_t wanted = std::bit_ceil(2 * most + 1);
  try {
    if (wanted > entries_.size()) entries_.assign(wanted, entry{});
  } catch (const std::bad_alloc&) {
    left_ = 0;
  }
}

challenge_budget::entry& challenge_budget::entry_of(std::uint64_t owner) noexcept {
  const std::size_t mask = entries_.size() - 1;
  std::size_t at = (owner * 0x9e3779b97f4a7c15) >> 32 & mask;
  while (entries_[at].second == second_ && entries_[at].owner != owner) at = (at + 1) & mask;
  return entries_[at];
}

bool challenge_budget::take(std::uint64_t owner, instant now, std::uint32_t each, std::uint32_t all,
                            const siphash_key& key) noexcept {
  const auto second = static_cast<std::uint32_t>(now / 1'000'000) + 1;
  if (second != second_) begin_second(second, all, key);
  if (left_ == 0) return false;
  entry& e = entry_of(owner);
  if (e.second != second_) e = {owner, second_, 0};
  if (e.count >= each) return false;
  ++e.count;
  --left_;
  return true;
}

}  // namespace heddle::tcp
