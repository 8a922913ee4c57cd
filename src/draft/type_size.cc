// SPDX-License-Identifier: MIT
// Size and alignment that C gives a type; 64-bit targets.
#include <algorithm>

#include "draft/types.hh"

namespace heddle::draft {

namespace {

struct c_layout {
  std::uint64_t size;
  std::uint32_t align;
};

c_layout layout_of(const type& t) {
  const auto round = [](std::uint64_t n, std::uint64_t to) { return (n + to - 1) / to * to; };
  switch (t.kind) {
    case kind::boolean:
      return {1, 1};
    case kind::error:
      return {4, 4};
    case kind::text:
      return {round(4 + t.count, 4), 4};
    case kind::enumeration: {
      const std::uint32_t bytes = t.values->base->bits() / 8;
      return {bytes, bytes};
    }
    case kind::array:
    case kind::optional: {
      const c_layout of = layout_of(*t.of);
      const std::uint64_t size = std::min(of.size, type_size_max);
      return {t.kind == kind::array ? t.count * size : round(size + 1, of.align), of.align};
    }
    case kind::address:
      return {32, 4};
    case kind::view:
      return {16, 8};
    case kind::void_:
      return {0, 1};
    case kind::record:
      return {t.record->size, t.record->align};
    default:
      break;
  }
  if (t.name == "heddle_scope") return {40, 8};
  if (t.name == "heddle_within") return {72, 8};
  const std::uint32_t bytes = t.is_integer() ? t.bits() / 8 : 8;
  return {bytes, bytes};
}

}  // namespace

std::uint32_t align_of(const type& t) { return layout_of(t).align; }
std::uint64_t wide_size_of(const type& t) { return layout_of(t).size; }

std::uint32_t size_of(const type& t) {
  return static_cast<std::uint32_t>(std::min(wide_size_of(t), type_size_max));
}

}  // namespace heddle::draft
