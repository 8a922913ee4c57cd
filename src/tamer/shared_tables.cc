// SPDX-License-Identifier: MIT
// Tables that all colors of a Tame program share: the descriptors that a tamer::fd has, and the
// descriptions of waits.
#include <array>
#include <atomic>
#include <mutex>
#include <unordered_map>

#include "tamer/loop_state.hh"

namespace heddle::tame {
namespace {

constexpr std::size_t bits_of_word = 64;
constexpr std::size_t words_of_part = 64;
constexpr std::size_t bits_of_part = bits_of_word * words_of_part;

/// Bits of 4,096 descriptors.
using owned_part = std::array<std::atomic<std::uint64_t>, words_of_part>;

struct shared_tables {
  /// By descriptor number, as many as the drivers can have. A part is made at its first use.
  std::array<std::atomic<owned_part*>, 1024> owned{};
  std::mutex lock;  ///< guards `said`
  std::unordered_map<const heddle::detail::event_set*, std::string> said;
};

shared_tables& tables() {
  // Never destroyed: a static fd outlives everything else.
  static shared_tables& all = *new shared_tables;
  return all;
}

/// The word of a descriptor's bit, or null if there is none yet.
std::atomic<std::uint64_t>* word_of(std::size_t fd, bool make) {
  shared_tables& all = tables();
  if (fd / bits_of_part >= all.owned.size()) return nullptr;
  std::atomic<owned_part*>& place = all.owned[fd / bits_of_part];
  owned_part* part = place.load(std::memory_order_acquire);
  if (part == nullptr && make) {
    auto made = std::make_unique<owned_part>();
    // release: the thread that finds the part sees its zeros
    if (place.compare_exchange_strong(part, made.get(), std::memory_order_acq_rel))
      part = made.release();
  }
  return part == nullptr ? nullptr : &(*part)[fd % bits_of_part / bits_of_word];
}

}  // namespace

void note_owned(int fd, bool owned) {
  if (fd < 0) return;
  const auto number = static_cast<std::size_t>(fd);
  std::atomic<std::uint64_t>* const word = word_of(number, owned);
  if (word == nullptr) return;
  const std::uint64_t bit = std::uint64_t{1} << number % bits_of_word;
  if (owned) {
    word->fetch_or(bit, std::memory_order_relaxed);
  } else {
    word->fetch_and(~bit, std::memory_order_relaxed);
  }
}

bool is_owned(int fd) noexcept {
  if (fd < 0) return false;
  const auto number = static_cast<std::size_t>(fd);
  const std::atomic<std::uint64_t>* const word = word_of(number, false);
  return word != nullptr &&
         (word->load(std::memory_order_relaxed) >> number % bits_of_word & 1) != 0;
}

void note_description(const heddle::detail::event_set* set, std::string text) {
  const std::lock_guard hold(tables().lock);
  tables().said[set] = std::move(text);
}

void forget_description(const heddle::detail::event_set* set) {
  const std::lock_guard hold(tables().lock);
  tables().said.erase(set);
}

std::string description_of(const heddle::detail::event_set* set) {
  const std::lock_guard hold(tables().lock);
  const auto found = tables().said.find(set);
  return found == tables().said.end() ? std::string() : " " + found->second;
}

}  // namespace heddle::tame
