// SPDX-License-Identifier: MIT
// Entity tags (RFC 9110 section 8.8.3): made from what tells two states of a file apart, and
// looked for in the lists of If-Match and If-None-Match.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace heddle::http {

// A strong tag for a file's state, quotes included: inode, size and time of change in hexadecimal.
// With nanoseconds in the time, two states share a tag only if the file was written twice within
// the clock's tick and kept its size.
class file_etag {
 public:
  file_etag(std::uint64_t inode, std::uint64_t size, std::uint64_t changed_ns);
  std::string_view text() const { return {text_.data(), length_}; }

 private:
  std::array<char, 2 + 3 * 16 + 2> text_;
  std::uint8_t length_ = 0;
};

// One tag of a list. `opaque` includes the quotes, so it compares with file_etag::text().
struct entity_tag {
  std::string_view opaque;
  bool weak = false;
};

// Takes the next tag off `rest`. False: the end, or, with `rest` not empty, a list that is broken
// from here on.
bool take_entity_tag(std::string_view& rest, entity_tag& tag);

enum class etag_comparison : std::uint8_t { strong, weak };

// True when the list names `current` (a tag with its quotes, W/ before it if it is weak), or is
// "*". A broken list matches only what stands before the break.
bool etag_listed(std::string_view list, std::string_view current, etag_comparison how);

}  // namespace heddle::http
