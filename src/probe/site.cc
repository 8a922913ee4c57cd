// SPDX-License-Identifier: MIT
// From 32 bits back to a source line. The low half of a pointer to constant data is known; the
// upper half is that of a loaded image whose range holds such an address and where what stands
// there looks like a source location: two pointers to text inside an image, and a sane line number.
#include "heddle/probe/site.hh"

#include <cxxabi.h>
#include <link.h>

#include <cstdlib>
#include <cstring>
#include <vector>

namespace heddle {
namespace {

struct image_range {
  std::uintptr_t begin, end;
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

/// The layout that __builtin_source_location() gives on GCC and Clang.
struct location_data {
  const char* file;
  const char* function;
  unsigned line;
  unsigned column;
};

bool inside(const std::vector<image_range>& ranges, std::uintptr_t address, std::size_t bytes) {
  for (const auto& r : ranges)
    if (address >= r.begin && address + bytes <= r.end) return true;
  return false;
}

}  // namespace

source_line resolve_site(site s) {
  const std::uintptr_t low = s & ~site_flag_mask;
  if (low == 0) return {};
  const auto ranges = loaded_ranges();
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

std::string to_string(const source_line& where) {
  if (where.line == 0) return "?";
  return std::string(where.file) + ":" + std::to_string(where.line);
}

std::string function_name(const source_line& where) {
  // GCC 12 writes a frame's name as "f(int)::_Z1fi.Frame*" in the actor and prefixes its return
  // type.
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
