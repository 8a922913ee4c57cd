// SPDX-License-Identifier: MIT
// Described values as text, for logs and test failures:
//
//   xdr::to_text(args)    // {what: {dir: 0x00010203, name: "a.txt"}, count: 4096}
#pragma once

#include "heddle/xdr/detail/visit.hh"

namespace heddle::xdr {

/// Limits of a printed value: longer ones end in "...".
struct print_limits {
  std::size_t text_bytes_max = 4096;  ///< bytes of the whole text
  std::size_t run_bytes_max = 64;     ///< bytes shown of one text or opaque
};

/// Builds the text of one value. Thread: one color. Fails: throws std::bad_alloc only.
class printer {
 public:
  explicit printer(print_limits limits = {}) noexcept : limits_(limits) {}

  template <class T>
  void print(const T& value) {
    static_cast<void>(visit(value));
  }
  /// Gives the text; the printer is then empty.
  [[nodiscard]] std::string take();

  // Descriptions and detail::visit() call the rest.

  template <class V>
  bool operator()(const char* name, const V& value) {
    if constexpr (detail::made_of<V, link>)
      if (&value == skipped_) return true;  // linked() prints the elements one after another
    separate();
    add(name);
    add(": ");
    return visit(value);
  }
  template <class D, class Variant, class ArmOf>
  bool choice(const char* name, const D& discriminant, const Variant& body, ArmOf arm_of) {
    (*this)(name, discriminant);
    if (!detail::arm_fits(discriminant, body, arm_of)) return (*this)("body", "(another arm)");
    return detail::with_alternative(body, [this](auto& v) {
      if constexpr (std::same_as<std::remove_cvref_t<decltype(v)>, std::monostate>)
        return true;
      else
        return (*this)("body", v);
    });
  }
  template <class T>
  bool number(const T& value) {
    if constexpr (std::is_floating_point_v<T>)
      return add_real(static_cast<double>(value));
    else
      return add(std::to_string(value));
  }
  bool boolean(const bool& value) { return add(value ? "true" : "false"); }
  template <class E>
  bool enumeration(const E& value) {
    const char* const name = name_of(value);
    return name != nullptr ? add(name) : number(static_cast<std::int32_t>(value));
  }
  bool characters(const std::string& value, std::uint32_t bound);
  bool counted_bytes(const std::string& value, std::uint32_t bound);
  bool pieces(const chain& value, std::uint32_t bound);
  bool fixed_bytes(const std::byte* from, std::size_t size);
  template <class T>
  bool sequence(const std::vector<T>& value, std::uint32_t) {
    open('[');
    for (const T& each : value) {
      if (full()) break;
      separate();
      visit(each);
    }
    return close(']');
  }
  template <class T>
  bool maybe(const std::optional<T>& value) {
    return value ? visit(*value) : add("none");
  }
  template <class T>
  bool linked(const link<T>& value) {
    if constexpr (!has_tail<T>) {
      return value ? visit(*value) : add("none");
    } else {
      const void* const outer = skipped_;
      open('[');
      for (const link<T>* at = &value; *at && !full();) {
        const T& element = **at;
        at = &tail_of(**at);
        skipped_ = at;
        separate();
        visit(element);
      }
      skipped_ = outer;
      return close(']');
    }
  }

 private:
  template <class V>
  bool visit(const V& value) {
    using T = std::remove_cvref_t<V>;
    if (full()) return true;
    if constexpr (std::is_array_v<T>) {
      return add(value);
    } else if constexpr (detail::is_array<T> && !detail::is_fixed_bytes<T>) {
      open('[');
      for (const auto& each : value) {
        separate();
        visit(each);
      }
      return close(']');
    } else if constexpr (std::is_class_v<T> && !detail::bounded<T, text> &&
                         !detail::bounded<T, bytes> && !detail::bounded<T, opaque> &&
                         !detail::is_list<T> && !detail::made_of<T, link> &&
                         !detail::made_of<T, std::optional> && !detail::is_fixed_bytes<T>) {
      open('{');
      static_cast<void>(detail::visit(*this, value));
      return close('}');
    } else {
      return detail::visit(*this, value);
    }
  }
  [[nodiscard]] bool full() const noexcept { return out_.size() > limits_.text_bytes_max; }
  bool add(std::string_view text);
  bool add_real(double value);
  bool add_hex(byte_view shown, std::size_t size);
  void open(char bracket);
  bool close(char bracket);
  void separate();

  print_limits limits_;
  std::string out_;
  bool first_ = true;
  const void* skipped_ = nullptr;
};

/// The text of one value.
template <class T>
[[nodiscard]] std::string to_text(const T& value, print_limits limits = {}) {
  printer p(limits);
  p.print(value);
  return p.take();
}

}  // namespace heddle::xdr
