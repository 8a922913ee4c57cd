// SPDX-License-Identifier: MIT
// Size and alignment that C gives a type; 64-bit targets.
#include <algorithm>

#include "draft/types.hh"

namespace heddle::draft {

std::uint32_t align_of(const type& t) {
  switch (t.kind) {
    case kind::boolean:
      return 1;
    case kind::error:
      return 4;
    case kind::text:
      return 4;
    case kind::enumeration:
      return t.values->base->bits() / 8;
    case kind::array:
    case kind::optional:
      return align_of(*t.of);
    case kind::address:
      return 4;
    case kind::record:
      return t.record->align;
    case kind::void_:
      return 1;
    default:
      return t.is_integer() ? t.bits() / 8 : 8;
  }
}

std::uint64_t wide_size_of(const type& t) {
  const auto round = [](std::uint64_t n, std::uint64_t to) { return (n + to - 1) / to * to; };
  switch (t.kind) {
    case kind::boolean:
      return 1;
    case kind::error:
      return 4;
    case kind::text:
      return round(4 + t.count, 4);
    case kind::enumeration:
      return t.values->base->bits() / 8;
    case kind::array:
      return t.count * size_of(*t.of);
    case kind::optional:
      return round(std::uint64_t{size_of(*t.of)} + 1, align_of(*t.of));
    case kind::address:
      return 32;
    case kind::view:
      return 16;
    case kind::void_:
      return 0;
    case kind::record:
      return t.record->size;
    default:
      break;
  }
  if (t.name == "heddle_scope") return 40;
  if (t.name == "heddle_within") return 72;
  return t.is_integer() ? t.bits() / 8 : 8;
}

std::uint32_t size_of(const type& t) {
  return static_cast<std::uint32_t>(std::min(wide_size_of(t), type_size_max));
}

}  // namespace heddle::draft
