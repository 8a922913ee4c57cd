// SPDX-License-Identifier: MIT
// HPACK (RFC 7541): header fields of HTTP/2 as few bytes. The decoder keeps what the peer sent
// before; the encoder keeps nothing, so an idle connection pays for one table only.
//
// For the parts of the library that speak HTTP/2; not for programs: it may change in any version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/http/detail/hpack_table.hh"

namespace heddle::http {

/// The result of one call of hpack_decoder::next().
enum class hpack_state : std::uint8_t { field, end, failed };

/// Reads the header blocks of one direction of a connection, in their order.
///
/// Thread: the connection's color. Owns: the dynamic table.
/// Fails: `failed` for anything that RFC 7541 calls a decoding error, and for a text longer than
///   the limit. The connection cannot go on then: the tables of its ends differ.
///
///   hpack_pair field;
///   decoder.begin();
///   while (decoder.next(block, field) == hpack_state::field) use(field.name, field.value);
class hpack_decoder {
 public:
  /// `table_max` is what our SETTINGS_HEADER_TABLE_SIZE says; `text_max` is for one name or value.
  explicit hpack_decoder(std::size_t table_max = 4096, std::size_t text_max = 64 * 1024)
      : table_(table_max), table_max_(table_max), text_max_(text_max) {}

  /// Call it before each block: changes of the table's size may come only at the beginning of a
  /// block.
  void begin() noexcept { may_resize_ = true; }
  /// Takes one field from the front of the block. Its views are good until the next call.
  [[nodiscard]] hpack_state next(std::string_view& block, hpack_pair& out);

  [[nodiscard]] const hpack_table& table() const noexcept { return table_; }

 private:
  [[nodiscard]] bool take_text(std::string_view& block, std::string& into);
  [[nodiscard]] bool take_literal(std::string_view& block, unsigned prefix_bits, hpack_pair& out);

  hpack_table table_;
  std::size_t table_max_;
  std::size_t text_max_;
  std::string name_;
  std::string value_;
  bool may_resize_ = true;
};

/// Takes an integer with a prefix (section 5.1). False if it does not end in `block`, or is above
/// 2^32.
[[nodiscard]] bool hpack_take_number(std::string_view& block, unsigned prefix_bits,
                                     std::uint64_t& out) noexcept;
/// Appends an integer; `first` has the bits above the prefix.
void hpack_put_number(std::string& out, unsigned first, unsigned prefix_bits, std::uint64_t number);

/// Appends one field in the shortest form that no dynamic table is needed for. The name is in lower
/// case.
void hpack_encode(std::string& out, std::string_view name, std::string_view value);
/// Appends a field that no party on the way may keep (section 7.1.3): credentials.
void hpack_encode_secret(std::string& out, std::string_view name, std::string_view value);

}  // namespace heddle::http
