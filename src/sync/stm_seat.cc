// SPDX-License-Identifier: MIT
// Taking and giving back seats, and stepping their numbers.
#include "sync/stm_seat.hh"

#include <memory>

namespace heddle::detail {
namespace {

constinit std::array<stm_seat_record, stm_seats_max> records;

stm_seat_record& take_record() noexcept {
  for (std::size_t i = 1; i < records.size(); ++i)
    // acquire: pairs with the release in ~stm_seat(), so the number goes on where it stopped
    if (!records[i].taken.load(std::memory_order_relaxed) &&
        !records[i].taken.exchange(true, std::memory_order_acquire))
      return records[i];
  return records[0];
}

}  // namespace

stm_seat::stm_seat() noexcept : record_(&take_record()), shared_(record_ == records.data()) {
  const auto index = static_cast<std::uint64_t>(record_ - records.data());
  own_ = record_->last.load(std::memory_order_relaxed) | index << 1;
  seen_[index] = own_;
}

stm_seat::~stm_seat() {
  // release: pairs with take_record()
  if (!shared_) record_->taken.store(false, std::memory_order_release);
}

void stm_seat::make(worker& w) { w.transactions = std::make_unique<stm_seat>(); }

std::uint64_t stm_seat::newest_like(std::uint64_t stamp) noexcept {
  // acquire: pairs with next_stamp(): the locks of that commit are seen, too
  const std::uint64_t last = records[seat_of(stamp)].last.load(std::memory_order_acquire);
  return last < stamp ? stamp : last;
}

std::uint64_t stm_seat::next_shared_stamp() noexcept {
  // acq_rel: as in next_stamp(); and a later step comes after the locks of all steps before it
  own_ = record_->last.fetch_add(stm_step, std::memory_order_acq_rel) + stm_step;
  return own_;
}

}  // namespace heddle::detail
