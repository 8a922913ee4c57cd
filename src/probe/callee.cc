// SPDX-License-Identifier: MIT
// Names of functions, from the symbol table of the file that has their code. dladdr() knows only
// exported functions, and programs export none.
#include "heddle/probe/callee.hh"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

namespace heddle {
namespace {

std::string demangled(const char* name) {
  int status = 0;
  char* const plain = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  if (plain == nullptr) return name;
  std::string result(plain);
  std::free(plain);
  return result;
}

/// The file with an address, and the address in it.
struct image_place {
  std::uintptr_t address;
  std::uintptr_t base = 0;
  std::string file = {};
};

image_place find_image(const void* code) {
  image_place found{reinterpret_cast<std::uintptr_t>(code)};
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        auto& place = *static_cast<image_place*>(out);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
          if (segment.p_type != PT_LOAD || place.address < begin ||
              place.address >= begin + segment.p_memsz)
            continue;
          place.base = info->dlpi_addr;
          place.file = *info->dlpi_name == '\0' ? "/proc/self/exe" : info->dlpi_name;
          return 1;
        }
        return 0;
      },
      &found);
  return found;
}

/// A file in memory, read-only.
class mapped_file {
 public:
  explicit mapped_file(const char* path) noexcept {
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    struct stat about{};
    if (::fstat(fd, &about) == 0 && about.st_size > 0) {
      size_ = static_cast<std::size_t>(about.st_size);
      at_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
      if (at_ == MAP_FAILED) size_ = 0;
    }
    ::close(fd);
  }
  mapped_file(const mapped_file&) = delete;
  ~mapped_file() {
    if (size_ != 0) ::munmap(at_, size_);
  }
  /// A part as an array; empty if it is not inside the file, or not aligned.
  template <class T>
  [[nodiscard]] std::span<const T> part(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    if (offset > size_ || bytes > size_ - offset || offset % alignof(T) != 0) return {};
    return {reinterpret_cast<const T*>(static_cast<const char*>(at_) + offset), bytes / sizeof(T)};
  }

 private:
  void* at_ = nullptr;
  std::size_t size_ = 0;
};

/// The symbol of the function at this address of the file; "" if there is none.
std::string symbol_in(const mapped_file& file, std::uintptr_t address) {
  const auto head = file.part<ElfW(Ehdr)>(0, sizeof(ElfW(Ehdr)));
  if (head.empty() || std::memcmp(head[0].e_ident, ELFMAG, SELFMAG) != 0) return {};
  const auto sections =
      file.part<ElfW(Shdr)>(head[0].e_shoff, std::uint64_t{head[0].e_shnum} * sizeof(ElfW(Shdr)));
  for (const auto type : {SHT_SYMTAB, SHT_DYNSYM}) {
    for (const auto& table : sections) {
      if (table.sh_type != static_cast<unsigned>(type) || table.sh_link >= sections.size())
        continue;
      const auto& names = sections[table.sh_link];
      const auto text = file.part<char>(names.sh_offset, names.sh_size);
      for (const auto& symbol : file.part<ElfW(Sym)>(table.sh_offset, table.sh_size)) {
        if ((symbol.st_info & 0xf) != STT_FUNC || symbol.st_value != address ||
            symbol.st_name >= text.size())
          continue;
        const char* const name = text.data() + symbol.st_name;
        if (std::memchr(name, '\0', text.size() - symbol.st_name) != nullptr)
          return demangled(name);
      }
    }
  }
  return {};
}

}  // namespace

std::string function_at(const void* code) {
  const image_place place = find_image(code);
  if (place.file.empty()) return {};
  return symbol_in(mapped_file(place.file.c_str()), place.address - place.base);
}

std::string callee::name() const {
  if (code != nullptr)
    if (std::string function = function_at(code); !function.empty()) return function;
  return type == nullptr ? std::string() : demangled(type->name());
}

}  // namespace heddle
