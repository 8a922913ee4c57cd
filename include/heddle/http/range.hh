// SPDX-License-Identifier: MIT
// Byte ranges (RFC 9110 section 14): parses a Range field for a representation of known size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace heddle::http {

// A range of bytes; its first and last byte are inside the representation.
struct byte_range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t length() const { return last - first + 1; }
};

// A field with more ranges is an attack or a mistake, and is ignored.
inline constexpr std::size_t range_count_max = 16;

enum class range_answer : std::uint8_t {
  whole,          // no usable range: answer 200 with everything
  single,         // 206 with one part
  multiple,       // 206 with several parts; the server may answer with the whole instead
  unsatisfiable,  // 416; Content-Range tells the size
};

// Thread: a value.  The ranges that can be satisfied, in the order of the request.
class range_set {
 public:
  range_answer answer() const { return answer_; }
  std::span<const byte_range> ranges() const { return {ranges_.data(), count_}; }
  const byte_range& front() const { return ranges_[0]; }

 private:
  friend range_set parse_ranges(std::string_view value, std::uint64_t size);
  range_answer answer_ = range_answer::whole;
  std::size_t count_ = 0;
  std::array<byte_range, range_count_max> ranges_;
};

// Gives `whole` for a value that is malformed, in another unit or too long, as RFC 9110 section
// 14.2 asks, and for ranges that overlap so much that they would multiply the size of the answer.
range_set parse_ranges(std::string_view value, std::uint64_t size);

// Writes "bytes 0-99/1000", or "bytes */1000" for a 416.
class content_range {
 public:
  content_range(byte_range range, std::uint64_t size);
  static content_range unsatisfied(std::uint64_t size);
  std::string_view text() const { return {text_.data(), length_}; }

 private:
  content_range() = default;
  void add(std::string_view text);
  void add(std::uint64_t number);

  std::array<char, 6 + 3 * 20 + 2> text_;
  std::uint8_t length_ = 0;
};

}  // namespace heddle::http
