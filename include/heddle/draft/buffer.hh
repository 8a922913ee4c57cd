// SPDX-License-Identifier: MIT
// Bytes with room behind them: made with a size, or by conn::receive(), whose buffer is a block of
// the driver's without room. It is a heddle_buffer (heddle/draft.h), which C functions get.
//
//   draft::buffer out(4096);
//   out.put("length ", n, "\n");
#pragma once

#include <string>
#include <string_view>

#include "heddle/draft/detail/cell.hh"
#include "heddle/draft/text.hh"

namespace heddle::from_draft {

/// Thread: one color at a time. Views into it are good until it changes or ends.
class buffer {
 public:
  using handle_type = heddle_buffer;

  buffer() noexcept = default;
  explicit buffer(heddle_buffer* made) noexcept : raw_(made) {}
  /// Throws error.invalid for a size below 1 or above 1 GiB.
  explicit buffer(std::int64_t size)
      : raw_(detail::made<heddle_buffer>(
            [&](heddle_buffer** out) { return heddle_buffer_new(this_worker(), size, out); })) {}

  [[nodiscard]] std::string_view filled() const noexcept {
    return {raw_->data + raw_->begin, raw_->end - raw_->begin};
  }
  operator std::string_view() const noexcept { return filled(); }
  [[nodiscard]] std::int64_t len() const noexcept { return heddle_buffer_len(raw_.get()); }
  /// How many bytes fit behind those in it; consumed bytes at the front count.
  [[nodiscard]] std::int64_t room() const noexcept { return heddle_buffer_room(raw_.get()); }
  /// Drops bytes at the front; more than there are is a fault.
  void consume(std::int64_t count, std::source_location where = std::source_location::current()) {
    std::uint32_t bad = 0;
    heddle_buffer_consume(raw_.get(), count, &bad);
    if (bad != 0) fail_with(detail::bounds, where);
  }
  void clear() noexcept { heddle_buffer_clear(raw_.get()); }
  /// Appends values as text. Throws error.full if they do not fit; then nothing is appended.
  template <class... Parts>
  void put(const Parts&... parts) {
    std::string all;
    (write_to(all, parts), ...);
    heddle_put_begin(raw_.get());
    heddle_put_view(raw_.get(), to_c(all));
    if (heddle_put_end(raw_.get()) != 0) throw error("full");
  }
  [[nodiscard]] heddle_buffer* raw() const noexcept { return raw_.get(); }

 private:
  detail::owned_handle<heddle_buffer, heddle_buffer_free> raw_;
};

}  // namespace heddle::from_draft
