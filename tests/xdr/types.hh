// SPDX-License-Identifier: MIT
// Types for the tests of room xdr, described by hand.
#pragma once

#include "heddle/xdr/types.hh"

namespace heddle::test {

enum class color_name : std::int32_t { red = 0, green = 5, none = -1 };
inline constexpr xdr::named_value values_of_color_name[] = {{-1, "none"}, {0, "red"}, {5, "green"}};
constexpr std::span<const xdr::named_value> values_of(color_name) noexcept {
  return values_of_color_name;
}

struct number_or_name {
  std::int32_t kind = 1;
  std::variant<std::int32_t, xdr::text<>, std::monostate> body;
  static constexpr std::size_t arm_of(std::int32_t k) noexcept {
    return k == 1 ? 0 : k == 2 ? 1 : k < 0 ? 2 : xdr::no_arm;
  }
};
template <class A, xdr::form_of<number_or_name> V>
bool describe(A& a, V& v) {
  return a.choice("kind", v.kind, v.body, &number_or_name::arm_of);
}

struct pair_of_names {
  xdr::list<xdr::text<8>> first;
  xdr::list<xdr::text<8>> second;
};
template <class A, xdr::form_of<pair_of_names> V>
bool describe(A& a, V& v) {
  return a("first", v.first) && a("second", v.second);
}

struct nested {
  xdr::list<nested> inner;
};
template <class A, xdr::form_of<nested> V>
bool describe(A& a, V& v) {
  return a("inner", v.inner);
}

struct number_list {
  std::int32_t number = 0;
  xdr::link<number_list> next;
};
template <class A, xdr::form_of<number_list> V>
bool describe(A& a, V& v) {
  return a("number", v.number) && a("next", v.next);
}
inline xdr::link<number_list>& tail_of(number_list& v) noexcept { return v.next; }

/// One of everything.
struct node {
  color_name color = color_name::red;
  number_or_name which;
  xdr::text<20> name;
  xdr::bytes<16> handle;
  xdr::opaque<> data;
  std::array<std::byte, 5> seal{};
  std::array<std::int32_t, 2> place{};
  std::optional<double> ratio;
  bool good = false;
  xdr::list<node, 3> children;
  xdr::link<number_list> numbers;
  xdr::link<node> next;
};
template <class A, xdr::form_of<node> V>
bool describe(A& a, V& v) {
  return a("color", v.color) && a("which", v.which) && a("name", v.name) && a("handle", v.handle) &&
         a("data", v.data) && a("seal", v.seal) && a("place", v.place) && a("ratio", v.ratio) &&
         a("good", v.good) && a("children", v.children) && a("numbers", v.numbers) &&
         a("next", v.next);
}
inline xdr::link<node>& tail_of(node& v) noexcept { return v.next; }

}  // namespace heddle::test
