// SPDX-License-Identifier: MIT
// Converts 32 bits back to a source line. They are the low half of a pointer to constant data. The
// upper half is found by trying each loaded image whose range contains such an address: the data
// there must look like a source location, with two pointers to text inside an image and a plausible
// line.
#include "heddle/probe/site.hh"

#include <cxxabi.h>
#include <link.h>
#include <sys/auxv.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

namespace heddle {
namespace {

struct image_range {
  std::uintptr_t begin = 0, end = 0;
};

std::vector<image_range> loaded_ranges() {
  std::vector<image_range> ranges;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD || (segment.p_flags & PF_R) == 0) continue;
          const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
          static_cast<std::vector<image_range>*>(out)->push_back({begin, begin + segment.p_memsz});
        }
        return 0;
      },
      &ranges);
  return ranges;
}

/// The layout of the data that __builtin_source_location() points to, on GCC and Clang.
struct location_data {
  const char* file;
  const char* function;
  unsigned line;
  unsigned column;
};

bool inside(std::span<const image_range> ranges, std::uintptr_t address, std::size_t bytes) {
  for (const auto& r : ranges)
    if (address >= r.begin && address + bytes <= r.end) return true;
  return false;
}

source_line find_in(std::span<const image_range> ranges, site s) noexcept {
  const std::uintptr_t low = s & ~site_flag_mask;
  if (low == 0) return {};
  for (const auto& r : ranges) {
    std::uintptr_t at = (r.begin & ~std::uintptr_t{0xffffffff}) | low;
    if (at < r.begin) at += std::uintptr_t{1} << 32;
    if (at < r.begin || at + sizeof(location_data) > r.end) continue;
    location_data data;
    std::memcpy(&data, reinterpret_cast<const void*>(at), sizeof data);
    if (!inside(ranges, reinterpret_cast<std::uintptr_t>(data.file), 1) ||
        !inside(ranges, reinterpret_cast<std::uintptr_t>(data.function), 1) || data.line == 0 ||
        data.line > 10'000'000)
      continue;
    return {data.file, data.function, data.line, data.column};
  }
  return {};
}

}  // namespace

source_line resolve_site(site s) { return find_in(loaded_ranges(), s); }

source_line resolve_site_in_program(site s) noexcept {
  std::array<image_range, 16> ranges;
  std::size_t count = 0;
  const auto* const headers = reinterpret_cast<const ElfW(Phdr)*>(::getauxval(AT_PHDR));
  const auto len = static_cast<std::size_t>(::getauxval(AT_PHNUM));
  if (headers == nullptr) return {};
  std::uintptr_t base = 0;
  for (const auto& h : std::span(headers, len))
    if (h.p_type == PT_PHDR) base = reinterpret_cast<std::uintptr_t>(headers) - h.p_vaddr;
  for (const auto& h : std::span(headers, len))
    if (h.p_type == PT_LOAD && (h.p_flags & PF_R) != 0 && count != ranges.size())
      ranges[count++] = {base + h.p_vaddr, base + h.p_vaddr + h.p_memsz};
  return find_in(std::span(ranges).first(count), s);
}

std::string to_string(const source_line& where) {
  if (where.line == 0) return "?";
  return std::string(where.file) + ":" + std::to_string(where.line);
}

std::string describe_site(site s) {
  const source_line where = resolve_site(s);
  return to_string(where) + " in " + function_name(where);
}

std::string function_name(const source_line& where) {
  // GCC 12 writes a frame's function as "f(int)::_Z1fi.Frame*" in the actor, with its return type
  // in front.
  std::string_view name = where.function;
  if (const auto mangled = name.find("_Z"); mangled != std::string_view::npos) {
    std::string part(name.substr(mangled));
    if (const auto dot = part.find('.'); dot != std::string::npos) part.resize(dot);
    int status = 0;
    if (char* plain = abi::__cxa_demangle(part.c_str(), nullptr, nullptr, &status)) {
      std::string result(plain);
      std::free(plain);
      return result;
    }
  }
  return std::string(name);
}

}  // namespace heddle
