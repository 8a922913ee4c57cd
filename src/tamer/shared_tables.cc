// SPDX-License-Identifier: MIT
// Tables that all colors of a Tame program share: the waits for descriptors that a tamer::fd has,
// and the descriptions of waits.
#include <array>
#include <atomic>
#include <mutex>
#include <unordered_map>

#include "tamer/descriptor_waits.hh"
#include "tamer/loop_state.hh"

namespace heddle::tame {
namespace {

constexpr std::size_t part_size = 1024;

/// The waits of 1,024 descriptors.
using waits_part = std::array<std::atomic<descriptor_waits*>, part_size>;

struct shared_tables {
  /// By descriptor number, as many as the drivers can have. A part is made at its first use.
  std::array<std::atomic<waits_part*>, 4096> waits{};
  std::mutex lock;  ///< guards `said`
  std::unordered_map<const heddle::detail::event_set*, std::string> said;
};

shared_tables& tables() {
  // Never destroyed: a static fd outlives everything else.
  static shared_tables& all = *new shared_tables;
  return all;
}

/// The place of a descriptor's waits, or null if there is none yet.
std::atomic<descriptor_waits*>* place_of(int fd, bool make) {
  if (fd < 0) return nullptr;
  const auto number = static_cast<std::size_t>(fd);
  shared_tables& all = tables();
  if (number / part_size >= all.waits.size()) return nullptr;
  std::atomic<waits_part*>& place = all.waits[number / part_size];
  waits_part* part = place.load(std::memory_order_acquire);
  if (part == nullptr && make) {
    auto made = std::make_unique<waits_part>();
    // release: the thread that finds the part sees its zeros
    if (place.compare_exchange_strong(part, made.get(), std::memory_order_acq_rel))
      part = made.release();
  }
  return part == nullptr ? nullptr : &(*part)[number % part_size];
}

}  // namespace

void note_waits(int fd, descriptor_waits* waits) {
  // relaxed: only the color that has the fd looks behind the pointer
  if (std::atomic<descriptor_waits*>* const place = place_of(fd, waits != nullptr))
    place->store(waits, std::memory_order_relaxed);
}

descriptor_waits* waits_of(int fd) noexcept {
  const std::atomic<descriptor_waits*>* const place = place_of(fd, false);
  return place == nullptr ? nullptr : place->load(std::memory_order_relaxed);
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
