// SPDX-License-Identifier: MIT
// The values of a flow: trees of operators without effects, one type a kind. An instruction stores
// a value, a tail decides by one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "draft/by_kind.hh"
#include "draft/token.hh"

namespace heddle::draft {

struct type;
struct value;

using var_id = std::uint32_t;
inline constexpr std::uint32_t no_id = ~std::uint32_t{0};

struct number_value {
  __int128 number = 0;
};
struct text_value {  ///< a literal as a view
  std::string bytes;
};
struct literal_value {  ///< a literal as bytes
  std::string bytes;
};
struct slot_value {  ///< a variable of the flow
  var_id slot;
};
struct field_value {
  box<value> of;
  std::size_t field;
};
struct element_value {  ///< an element of an array
  box<value> of;
  box<value> at;
  bool inside = false;  ///< the index needs no check
};
struct byte_value {  ///< a byte of a view
  box<value> of;
  box<value> at;
  bool inside = false;  ///< the index needs no check
};
struct part_value {  ///< a part of a view
  box<value> of;
  box<value> from;
  box<value> to;
};
struct index_value {  ///< `at`, which is a fault unless it is less than `count`
  box<value> at;
  std::uint64_t count;
};
struct unary_value {
  word op;
  box<value> of;
};
struct binary_value {
  word op;
  box<value> left;
  box<value> right;
};
struct error_value {  ///< the error of a status
  box<value> of;
};
struct status_value {  ///< the status of an error
  box<value> of;
};
struct convert_value {  ///< an integer as another type, a view as a text
  box<value> of;
  bool checked = false;  ///< an integer that does not fit is a fault
};
struct view_value {  ///< the bytes of a text, bytes or buffer
  box<value> of;
};
struct wrap_value {  ///< ?T of a T
  box<value> of;
};
struct empty_value {};  ///< zero, an empty text, none
struct has_value {      ///< whether a ?T holds something
  box<value> of;
};
struct held_value {  ///< the value inside a ?T
  box<value> of;
};
struct property_value {  ///< a built-in without effects: len
  std::string_view c_name;
  box<value> of;
};
struct foreign_value {  ///< a constant of C
  std::string name;
};

struct value
    : node_of<number_value, text_value, literal_value, slot_value, field_value, element_value,
              byte_value, part_value, index_value, unary_value, binary_value, error_value,
              status_value, convert_value, view_value, wrap_value, empty_value, has_value,
              held_value, property_value, foreign_value> {
  const draft::type* type = nullptr;

  /// The variable that it is, or no_id.
  [[nodiscard]] var_id slot() const noexcept;
  /// The variable that it is or is a part of, or no_id.
  [[nodiscard]] var_id root() const noexcept;
  /// Whether it is a number from 0 to `count` - 1.
  [[nodiscard]] bool is_below(std::uint64_t count) const noexcept;
  /// Whether computing it may be a fault: overflow, division by zero, an index.
  [[nodiscard]] bool may_fault() const noexcept;
  /// Whether an index is checked in it.
  [[nodiscard]] bool checks_index() const noexcept;
};

/// Calls use(x) for each direct part of a value, in order.
template <one_of<value> Value, class Use>
void each_part(Value& v, Use&& use) {
  by_kind(
      v,
      [](const one_of<number_value, text_value, literal_value, slot_value, empty_value,
                      foreign_value> auto&) {},
      [&](one_of<field_value, unary_value, error_value, status_value, convert_value, view_value,
                 wrap_value, has_value, held_value, property_value> auto& x) { use(*x.of); },
      [&](one_of<index_value> auto& x) { use(*x.at); },
      [&](one_of<element_value, byte_value> auto& x) {
        use(*x.of);
        use(*x.at);
      },
      [&](one_of<part_value> auto& x) {
        use(*x.of);
        use(*x.from);
        use(*x.to);
      },
      [&](one_of<binary_value> auto& x) {
        use(*x.left);
        use(*x.right);
      });
}

}  // namespace heddle::draft
