// SPDX-License-Identifier: MIT
// Entity tags (RFC 9110 section 8.8.3): made from a file's identity and times, and matched against
// the lists of If-Match and If-None-Match.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace heddle::http {

// Identifies one state of a file. The modification time alone does not suffice, because tar, rsync
// and cp -p restore an older one. Programs cannot set the status time; the system writes it at each
// change.
struct file_identity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::uint64_t modified_ns = 0;  // since 1970: when the content changed, as the file says (mtime)
  std::uint64_t status_ns = 0;  // when anything about the file changed, as the system says (ctime)
  bool operator==(const file_identity&) const = default;
};

// A strong tag for a file's state, quotes included: the five numbers in hexadecimal. Two states
// share a tag only if the file was written twice within the clock's tick and kept its size.
class file_etag {
 public:
  explicit file_etag(const file_identity& of);
  std::string_view text() const { return {text_.data(), length_}; }

 private:
  std::array<char, 2 + 5 * 16 + 4> text_;
  std::uint8_t length_ = 0;
};

// One tag of a list. `opaque` includes the quotes, so it compares with file_etag::text().
struct entity_tag {
  std::string_view opaque;
  bool weak = false;
};

// Takes the next tag off `rest`. False: at the end `rest` is empty; otherwise the list is malformed
// from here on.
bool take_entity_tag(std::string_view& rest, entity_tag& tag);

enum class etag_comparison : std::uint8_t { strong, weak };

// True if the list names `current` (a tag with its quotes, and W/ before it if it is weak) or is
// "*". Of a malformed list, the tags before the error are matched.
bool etag_listed(std::string_view list, std::string_view current, etag_comparison how);

}  // namespace heddle::http
