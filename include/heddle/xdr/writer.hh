// SPDX-License-Identifier: MIT
// Writes XDR (RFC 4506) to a chain. Opaque data is not copied: the chain that is made shares its
// pieces.
//
//   co_await conn.write(xdr::encode(point{1, 2}));
#pragma once

#include <bit>
#include <cstring>

#include "heddle/xdr/detail/visit.hh"

namespace heddle::xdr {

/// Thread: one color. Owns: the bytes, until take().
/// Fails: std::invalid_argument for a value that XDR cannot carry: longer than its bound, an enum
///   value that the enum does not list, a union whose discriminant belongs to another arm.
class writer {
 public:
  writer() noexcept = default;
  writer(const writer&) = delete;
  writer& operator=(const writer&) = delete;

  /// Writes a value of a described type.
  template <class T>
  void write(const T& value) {
    static_cast<void>(detail::visit(*this, value));
  }
  /// The bytes so far.
  [[nodiscard]] std::size_t size() const noexcept { return out_.size() + used_; }
  /// Gives all that was written; the writer is then empty.
  [[nodiscard]] chain take() {
    flush();
    return std::move(out_);
  }

  // Descriptions and detail::visit() call the rest.

  template <class V>
  bool operator()(const char* name, const V& value) {
    const char* const outer = std::exchange(name_, name);
    static_cast<void>(detail::visit(*this, value));
    name_ = outer;
    return true;
  }
  template <class D, class Variant, class ArmOf>
  bool choice(const char* name, const D& discriminant, const Variant& body, ArmOf arm_of) {
    if (!detail::arm_fits(discriminant, body, arm_of)) refuse_arm(name);
    (*this)(name, discriminant);
    return detail::with_alternative(body, [this](auto& v) { return detail::visit_arm(*this, v); });
  }
  template <class T>
  bool number(const T& value) {
    if (sizeof gathered_ - used_ < sizeof(T)) flush();
    const T wire = detail::swapped(value);
    std::memcpy(gathered_ + used_, &wire, sizeof wire);
    used_ += sizeof wire;
    return true;
  }
  bool boolean(const bool& value) { return number(std::uint32_t{value}); }
  template <class E>
  bool enumeration(const E& value) {
    if (name_of(value) == nullptr) refuse_enum(static_cast<std::int32_t>(value));
    return number(static_cast<std::int32_t>(value));
  }
  bool characters(const std::string& value, std::uint32_t bound) {
    write_length(value.size(), bound);
    return fixed_bytes(reinterpret_cast<const std::byte*>(value.data()), value.size());
  }
  bool counted_bytes(const std::string& value, std::uint32_t bound) {
    return characters(value, bound);
  }
  bool pieces(const chain& value, std::uint32_t bound);
  bool fixed_bytes(const std::byte* from, std::size_t size);
  template <class T>
  bool sequence(const std::vector<T>& value, std::uint32_t bound) {
    write_length(value.size(), bound);
    for (const T& each : value) static_cast<void>(detail::visit(*this, each));
    return true;
  }
  template <class T>
  bool maybe(const std::optional<T>& value) {
    boolean(value.has_value());
    return !value || detail::visit(*this, *value);
  }
  template <class T>
  bool linked(const link<T>& value) {
    if (&value == skipped_) return true;  // the loop below writes this tail
    const void* const outer = skipped_;
    for (const link<T>* at = &value;;) {
      boolean(static_cast<bool>(*at));
      if (!*at) break;
      const T& element = **at;
      if constexpr (has_tail<T>) {
        at = &tail_of(**at);
        skipped_ = at;
      }
      static_cast<void>(detail::visit(*this, element));
      if constexpr (!has_tail<T>) break;
    }
    skipped_ = outer;
    return true;
  }

 private:
  void flush();
  void write_length(std::size_t size, std::uint32_t bound);
  [[noreturn]] void refuse_arm(const char* name) const;
  [[noreturn]] void refuse_enum(std::int32_t value) const;

  chain out_;
  std::byte gathered_[256];
  std::size_t used_ = 0;
  const char* name_ = "the value";
  const void* skipped_ = nullptr;  // the tail of the list element that is being written
};

/// The bytes of one value. Fails: see writer.
template <class T>
[[nodiscard]] chain encode(const T& value) {
  writer w;
  w.write(value);
  return w.take();
}

}  // namespace heddle::xdr
