// SPDX-License-Identifier: MIT
// Reads XDR (RFC 4506) from a chain. Each length is compared with its bound and with the bytes that
// are left before memory is allocated; nonzero padding, unknown enum values and discriminants, deep
// nesting and too much memory are refused. Opaque data is not copied: it shares the chain's pieces.
//
//   std::expected<point, std::string> p = xdr::decode<point>(bytes);
//   if (!p) log("no point: " + p.error());     // "y: the data ends at byte 6"
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <expected>

#include "heddle/xdr/detail/visit.hh"

namespace heddle::xdr {

/// Limits of one reader.
struct reader_limits {
  std::uint32_t nesting_max = 64;  ///< lists, options and links inside each other
  /// Memory for elements of lists, options and links, in bytes. A few bytes of data can stand for a
  /// much larger object, so the size of the data is no limit.
  std::size_t memory_bytes_max = std::size_t{16} << 20;
};

/// Thread: the color of the chain. Owns: nothing; the chain must not change meanwhile.
/// Fails: read() gives false, and error() then names the mistake, its field and its byte.
class reader {
 public:
  explicit reader(const chain& in, reader_limits limits = {}) noexcept
      : in_(in), limits_(limits), left_(in.size()) {}

  /// Reads a value of a described type. After a failure all further calls fail.
  template <class T>
  [[nodiscard]] bool read(T& value) {
    return error_.empty() && detail::visit(*this, value);
  }

  /// Bytes that were not read.
  [[nodiscard]] std::size_t left() const noexcept { return left_; }
  /// The number of bytes that were read.
  [[nodiscard]] std::size_t at() const noexcept { return in_.size() - left_; }
  /// Empty as long as nothing has failed.
  [[nodiscard]] const std::string& error() const noexcept { return error_; }

  // Descriptions and detail::visit() call the rest.

  template <class V>
  bool operator()(const char* name, V& value) {
    if (detail::visit(*this, value)) [[likely]]
      return true;
    add_name(name);
    return false;
  }
  template <class D, class Variant, class ArmOf>
  bool choice(const char* name, D& discriminant, Variant& body, ArmOf arm_of) {
    if (!(*this)(name, discriminant)) return false;
    const std::size_t arm = arm_of(discriminant);
    if (arm == no_arm) {
      fail("the union has no arm for this value");
      add_name(name);
      return false;
    }
    set_arm(body, arm, discriminant);
    return detail::with_alternative(body, [this](auto& v) { return detail::visit_arm(*this, v); });
  }

  template <class T>
  bool number(T& value) {
    std::byte raw[sizeof(T)];
    if (!copy_out(raw, sizeof raw)) return false;
    value = detail::swapped(std::bit_cast<T>(raw));
    return true;
  }
  bool boolean(bool& value);
  template <class E>
  bool enumeration(E& value) {
    std::int32_t raw = 0;
    if (!number(raw)) return false;
    value = static_cast<E>(raw);
    return name_of(value) != nullptr || fail_enum(raw);
  }
  bool characters(std::string& value, std::uint32_t bound);
  bool counted_bytes(std::string& value, std::uint32_t bound) { return characters(value, bound); }
  bool pieces(chain& value, std::uint32_t bound);
  bool fixed_bytes(std::byte* to, std::size_t size) {
    return copy_out(to, size) && skip_padding(detail::padding_of(size));
  }
  template <class T>
  bool sequence(std::vector<T>& value, std::uint32_t bound) {
    std::uint32_t count = 0;
    value.clear();
    // Each element takes at least four bytes, so this count is checked before any is made.
    if (!read_length(count, bound, 4) || !enter()) return false;
    value.reserve(std::min<std::size_t>(count, reserved_bytes / sizeof(T)));
    for (std::uint32_t i = 0; i != count; ++i) {
      if (!allow_memory(sizeof(T))) return false;
      if (!detail::visit(*this, value.emplace_back())) {
        add_index(i);
        return false;
      }
    }
    --depth_;
    return true;
  }
  template <class T>
  bool maybe(std::optional<T>& value) {
    bool there = false;
    value.reset();
    if (!boolean(there)) return false;
    if (!there) return true;
    if (!enter() || !allow_memory(sizeof(T)) || !detail::visit(*this, value.emplace()))
      return false;
    --depth_;
    return true;
  }
  template <class T>
  bool linked(link<T>& value) {
    if (&value == skipped_) return true;  // the loop below reads this tail
    value.reset();
    if (!enter()) return false;
    const void* const outer = skipped_;
    for (link<T>* at = &value;;) {
      bool there = false;
      if (!boolean(there)) return false;
      if (!there) break;
      if (!allow_memory(sizeof(T))) return false;
      T& made = at->emplace();
      if constexpr (has_tail<T>) {
        at = &tail_of(made);
        skipped_ = at;
      }
      if (!detail::visit(*this, made)) return false;
      if constexpr (!has_tail<T>) break;
    }
    skipped_ = outer;
    --depth_;
    return true;
  }

 private:
  static constexpr std::size_t reserved_bytes = 4096;

  /// Reads a length, whose elements take at least `unit` bytes each.
  bool read_length(std::uint32_t& count, std::uint32_t bound, std::size_t unit);
  bool copy_out(std::byte* to, std::size_t size) {
    if (size <= static_cast<std::size_t>(end_ - now_)) [[likely]] {
      std::memcpy(to, now_, size);
      now_ += size;
      left_ -= size;
      return true;
    }
    return copy_out_slowly(to, size);
  }
  bool copy_out_slowly(std::byte* to, std::size_t size);
  bool skip_padding(std::size_t size);
  bool enter();
  bool allow_memory(std::size_t size);
  bool fail(std::string what);
  bool fail_enum(std::int32_t value);
  void add_name(const char* name);
  void add_index(std::size_t index);

  const chain& in_;
  reader_limits limits_;
  const std::byte* now_ = nullptr;  // in the piece before next_piece_
  const std::byte* end_ = nullptr;
  std::size_t next_piece_ = 0;
  std::size_t left_;
  std::size_t memory_ = 0;
  std::uint32_t depth_ = 0;
  const void* skipped_ = nullptr;  // the tail of the list element that is being read
  std::string path_;
  std::string what_;
  std::string error_;
};

/// Reads one value that fills the chain. The error names the mistake and its place.
template <class T>
[[nodiscard]] std::expected<T, std::string> decode(const chain& in, reader_limits limits = {}) {
  reader r(in, limits);
  std::expected<T, std::string> value;
  if (!r.read(*value)) return std::unexpected(r.error());
  if (r.left() != 0)
    return std::unexpected(std::to_string(r.left()) + " bytes are left after the value, at byte " +
                           std::to_string(r.at()));
  return value;
}

}  // namespace heddle::xdr
