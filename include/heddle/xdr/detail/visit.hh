// SPDX-License-Identifier: MIT
// The dispatch from the type of a value to the function of an archive that handles it. An archive
// is a reader, a writer, a printer or a generator.
#pragma once

#include <bit>
#include <type_traits>

#include "heddle/xdr/types.hh"

namespace heddle::xdr::detail {

/// Whether T is made of a template: of types, or of one bound.
template <class T, template <class...> class Of>
inline constexpr bool made_of = false;
template <template <class...> class Of, class... Types>
inline constexpr bool made_of<Of<Types...>, Of> = true;
template <class T, template <std::uint32_t> class Of>
inline constexpr bool bounded = false;
template <template <std::uint32_t> class Of, std::uint32_t Max>
inline constexpr bool bounded<Of<Max>, Of> = true;
template <class T>
inline constexpr bool is_list = false;
template <class T, std::uint32_t Max>
inline constexpr bool is_list<list<T, Max>> = true;
template <class T>
inline constexpr bool is_array = false;
template <class T, std::size_t N>
inline constexpr bool is_array<std::array<T, N>> = true;
template <class T>
inline constexpr bool is_fixed_bytes = false;
template <std::size_t N>
inline constexpr bool is_fixed_bytes<std::array<std::byte, N>> = true;
template <class T>
concept number =
    (std::is_integral_v<T> || std::is_floating_point_v<T>) && (sizeof(T) == 4 || sizeof(T) == 8);

template <class A, class V>
bool visit(A& a, V& v) {
  using T = std::remove_const_t<V>;
  if constexpr (std::same_as<T, bool>) {
    return a.boolean(v);
  } else if constexpr (number<T>) {
    return a.number(v);
  } else if constexpr (std::is_enum_v<T>) {
    return a.enumeration(v);
  } else if constexpr (std::same_as<T, std::string>) {
    return a.characters(v, no_bound);
  } else if constexpr (made_of<T, std::vector>) {
    return a.sequence(v, no_bound);
  } else if constexpr (bounded<T, text>) {
    return a.characters(v, T::bound);
  } else if constexpr (bounded<T, bytes>) {
    return a.counted_bytes(v, T::bound);
  } else if constexpr (bounded<T, opaque>) {
    return a.pieces(v, T::bound);
  } else if constexpr (is_fixed_bytes<T>) {
    return a.fixed_bytes(v.data(), v.size());
  } else if constexpr (is_array<T>) {
    for (auto& each : v)
      if (!visit(a, each)) return false;
    return true;
  } else if constexpr (is_list<T>) {
    return a.sequence(v, T::bound);
  } else if constexpr (made_of<T, link>) {
    return a.linked(v);
  } else if constexpr (made_of<T, std::optional>) {
    return a.maybe(v);
  } else {
    return describe(a, v);
  }
}

/// Calls f with the alternative of a variant that has this index.
template <class Variant, class F, std::size_t... I>
bool with_alternative(Variant& v, F&& f, std::index_sequence<I...>) {
  bool done = false;
  static_cast<void>(((v.index() == I && ((done = f(std::get<I>(v))), true)) || ...));
  return done;
}
template <class Variant, class F>
bool with_alternative(Variant& v, F&& f) {
  using plain = std::remove_const_t<Variant>;
  return with_alternative(v, f, std::make_index_sequence<std::variant_size_v<plain>>());
}
/// Visits a void arm, which has no bytes, or the value of another arm.
template <class A, class V>
bool visit_arm(A& a, V& v) {
  if constexpr (std::same_as<std::remove_const_t<V>, std::monostate>)
    return true;
  else
    return visit(a, v);
}

/// Whether this discriminant has the arm that the variant holds.
template <class D, class Variant, class ArmOf>
bool arm_fits(const D& discriminant, const Variant& body, ArmOf arm_of) {
  return arm_of(discriminant) == body.index();
}

/// The number of zero bytes that fill a run of bytes up to a multiple of four.
[[nodiscard]] constexpr std::size_t padding_of(std::size_t size) noexcept {
  return (4 - size % 4) % 4;
}

/// Changes a number between the machine's byte order and the wire's.
template <number T>
[[nodiscard]] inline T swapped(T value) noexcept {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(__builtin_bswap32(std::bit_cast<std::uint32_t>(value)));
  else
    return std::bit_cast<T>(__builtin_bswap64(std::bit_cast<std::uint64_t>(value)));
}

}  // namespace heddle::xdr::detail
