// SPDX-License-Identifier: MIT
// Splits blocks into records, and gathers records into writes.
#include "heddle/rpc/detail/records.hh"

#include <algorithm>
#include <bit>

#include "heddle/core/deadline.hh"
#include "heddle/rpc/call.hh"

namespace heddle::rpc::detail {
namespace {

constexpr std::size_t copied_bytes_max = 1024;
constexpr std::size_t part_bytes = std::size_t{256} << 10;
constexpr std::uint32_t last_fragment = 0x8000'0000;

struct held_block {
  received in;
  [[nodiscard]] byte_view bytes() const noexcept { return in.data(); }
};

}  // namespace

void record_input::feed(received&& in) { block_ = piece::held_by(held_block{std::move(in)}); }

std::optional<chain> record_input::next() {
  for (;;) {
    const byte_view bytes = block_.bytes();
    std::size_t used = 0;
    if (!begun_) {
      while (head_bytes_ != 4 && used != bytes.size()) {
        head_ = head_ << 8 | static_cast<std::uint32_t>(bytes[used++]);
        ++head_bytes_;
      }
      if (head_bytes_ != 4) {
        block_ = {};
        return std::nullopt;
      }
      begun_ = true;
      head_bytes_ = 0;
      left_ = head_ & ~last_fragment;
      if (left_ > bytes_max_ - record_.size())
        throw failure(errc::bad_record, "rpc: a record is longer than record_bytes_max (" +
                                            std::to_string(bytes_max_) + " bytes)");
    }
    const std::size_t count = std::min(left_, bytes.size() - used);
    if (count != 0 && count <= copied_bytes_max)
      record_.append_copy({bytes.data() + used, count});
    else if (count != 0)
      record_.append(block_.slice(used, count));
    left_ -= count;
    used += count;
    block_ = used == bytes.size() ? piece() : block_.slice(used);
    if (left_ != 0) return std::nullopt;
    begun_ = false;
    if ((head_ & last_fragment) != 0) return std::exchange(record_, chain());
  }
}

void record_output::put(chain&& record) {
  const std::uint32_t head =
      __builtin_bswap32(last_fragment | static_cast<std::uint32_t>(record.size()));
  const bool was_empty = queued_.empty();
  queued_.append_copy({&head, sizeof head});
  for (std::size_t i = 0; i != record.piece_count(); ++i) {
    const piece& each = record.piece_at(i);
    if (each.size() <= copied_bytes_max)
      queued_.append_copy(each.bytes());
    else
      queued_.append(each);
  }
  if (was_empty) news_.notify_all();
}

void record_output::finish() noexcept {
  finished_ = true;
  news_.notify_all();
}

task<> record_output::run() {
  for (;;) {
    while (queued_.empty() && !finished_) co_await news_.wait();
    if (queued_.empty()) co_return;
    chain out = std::exchange(queued_, chain());
    sending_ = out.size();
    while (!out.empty()) {
      // In parts, so that a slow peer has `patience` for each of them.
      chain part;
      do {
        part.append(out.piece_at(0).slice(0, part_bytes));
        out.remove_prefix(std::min(out.piece_at(0).size(), part_bytes));
      } while (!out.empty() && part.size() < part_bytes);
      const std::size_t size = part.size();
      co_await with_timeout(stream_.write(std::move(part)), patience_);
      sending_ -= size;
      changed.notify_all();
    }
  }
}

}  // namespace heddle::rpc::detail
