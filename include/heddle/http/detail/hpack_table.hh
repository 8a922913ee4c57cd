// SPDX-License-Identifier: MIT
// The two tables of HPACK (RFC 7541 section 2.3): the 61 fields of the standard, and behind them
// the fields that one side of a connection has sent before, newest first.
//
// For the parts of the library that speak HTTP/2; not for programs: it may change in any version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::http {

/// A name and a value, as views.
struct hpack_pair {
  std::string_view name;
  std::string_view value;
};

inline constexpr std::size_t hpack_static_count = 61;
/// The field at an index from 1 to 61.
[[nodiscard]] const hpack_pair& hpack_static(std::size_t index) noexcept;

/// The place of a field among the 61: 0 if its name is not there; `value` tells whether the value
/// is equal too.
struct hpack_static_place {
  std::uint8_t index = 0;
  bool value = false;
};
[[nodiscard]] hpack_static_place hpack_find_static(std::string_view name,
                                                   std::string_view value) noexcept;

/// Thread: the connection's color. Owns: the texts of its fields, one behind the other. Its size
/// counts 32 bytes a field beside the texts (section 4.1), which is more than it takes here.
class hpack_table {
 public:
  explicit hpack_table(std::size_t bytes_max) noexcept : bytes_max_(bytes_max) {}

  /// The field at an index of both tables, from 1 on; nothing beyond them. The views are good until
  /// the table changes.
  [[nodiscard]] std::optional<hpack_pair> at(std::uint64_t index) const noexcept;
  /// Adds a field as the newest; the oldest leave until all have room. A field that is larger than
  /// the table empties it. The texts must not be the table's own.
  void add(std::string_view name, std::string_view value);
  /// Sets another limit; the oldest fields leave until the rest fits.
  void resize(std::size_t bytes_max);

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t bytes_max() const noexcept { return bytes_max_; }
  [[nodiscard]] std::size_t count() const noexcept { return entries_.size() - first_; }

 private:
  struct entry {
    std::uint32_t at;  // in texts_
    std::uint32_t name_length;
    std::uint32_t value_length;
    [[nodiscard]] std::size_t bytes() const noexcept { return name_length + value_length + 32u; }
  };
  void drop_oldest() noexcept;
  void compact();

  std::string texts_;
  std::vector<entry> entries_;  // the oldest first
  std::size_t first_ = 0;       // index of the oldest entry that is not dropped
  std::size_t bytes_ = 0;
  std::size_t bytes_max_;
};

}  // namespace heddle::http
