// SPDX-License-Identifier: MIT
// Bytes with room behind them: made with a size, or by conn::receive(), whose buffer is a block of
// the driver's without room. C functions get its heddle_buffer (heddle/draft.h).
//
//   draft::buffer out(4096);
//   out.put("length ", n, "\n");
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "heddle/draft/text.hh"
#include "heddle/io/received.hh"

namespace heddle::from_draft {

/// Thread: one color at a time. Views into it are good until it changes or ends.
class buffer {
 public:
  buffer() noexcept = default;
  /// Throws error.invalid for a size below 1 or above 1 GiB.
  explicit buffer(std::int64_t size) : body_(std::make_unique<body>()) {
    if (size < 1 || size > std::int64_t{1} << 30) throw error("invalid");
    body_->own = std::make_unique_for_overwrite<char[]>(static_cast<std::size_t>(size));
    body_->raw.data = body_->own.get();
    body_->raw.capacity = static_cast<std::size_t>(size);
  }
  /// A block, of which the first `used` bytes were read.
  buffer(received block, std::size_t used) : body_(std::make_unique<body>()) {
    body_->block = std::move(block);
    heddle_buffer& raw = body_->raw;
    raw.data = reinterpret_cast<char*>(body_->block.writable().data());
    raw.begin = used;
    raw.end = raw.capacity = body_->block.size();
  }

  [[nodiscard]] std::string_view filled() const noexcept {
    const heddle_buffer& raw = body_->raw;
    return {raw.data + raw.begin, raw.end - raw.begin};
  }
  operator std::string_view() const noexcept { return filled(); }
  [[nodiscard]] std::int64_t len() const noexcept { return heddle_buffer_len(&body_->raw); }
  /// How many bytes fit behind those in it; consumed bytes at the front count.
  [[nodiscard]] std::int64_t room() const noexcept { return heddle_buffer_room(&body_->raw); }
  /// Drops bytes at the front; more than there are is a fault.
  void consume(std::int64_t count, std::source_location where = std::source_location::current()) {
    std::uint32_t bad = 0;
    heddle_buffer_consume(&body_->raw, count, &bad);
    if (bad != 0) fail_with(detail::bounds, where);
  }
  void clear() noexcept { heddle_buffer_clear(&body_->raw); }
  /// Appends values as text. Throws error.full if they do not fit; then nothing is appended.
  template <class... Parts>
  void put(const Parts&... parts) {
    std::string all;
    (write_to(all, parts), ...);
    heddle_put_begin(&body_->raw);
    heddle_put_view(&body_->raw, {all.data(), all.size()});
    if (heddle_put_end(&body_->raw) != 0) throw error("full");
  }
  [[nodiscard]] heddle_buffer* raw() const noexcept { return &body_->raw; }

 private:
  struct body {
    heddle_buffer raw{};
    std::unique_ptr<char[]> own;
    received block;
  };
  std::unique_ptr<body> body_;
};

}  // namespace heddle::from_draft
