// SPDX-License-Identifier: MIT
// The kernel reads into a block of whole pages at an aligned address, from which the bytes are
// copied. 4 KiB suit every disk whose blocks are not larger; other files are read normally.
#include "web/direct_read.hh"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "heddle/io/detail/files_here.hh"
#include "web/driver_call.hh"

namespace heddle::http {
namespace {

constexpr std::size_t direct_alignment = 4096;
constexpr std::size_t direct_block_max = 256 * 1024;  // at once; a larger file takes several reads
constexpr std::size_t direct_names_max = 1000;        // names that are looked at for a file to try

/// Gives a block back to the C library.
struct free_block {
  void operator()(std::byte* block) const noexcept { std::free(block); }
};
using aligned_block = std::unique_ptr<std::byte[], free_block>;

aligned_block make_aligned(std::size_t size) {
  auto* const block = static_cast<std::byte*>(std::aligned_alloc(direct_alignment, size));
  if (block == nullptr) throw std::bad_alloc();
  return aligned_block(block);
}

std::size_t whole_blocks(std::size_t size) noexcept {
  return (size + direct_alignment - 1) / direct_alignment * direct_alignment;
}

bool set_direct(int file, bool on) noexcept {
  return heddle::detail::files_here().set_flags(file, on ? O_RDONLY | O_DIRECT : O_RDONLY) == 0;
}

/// Tries the first file of a folder that it can open.
struct direct_trial final : entry_receiver {
  direct_trial(driver_files& f, int at) noexcept : files(f), folder(at) {}
  /// Stops at the first file that says something, and after direct_names_max names.
  bool receive(const char* name, entry_type) override {
    const int file = open_plain(name);
    if (file < 0) return ++seen < direct_names_max;
    if (!set_direct(file, true)) {
      why = std::string("its file system cannot read '") + name +
            "' without the kernel's cache (O_DIRECT); leave out --direct";
    } else if (files.read(file, block.get(), direct_alignment, 0) == -EINVAL) {
      why = std::string("the disk of '") + name +
            "' has blocks of more than 4 KiB, which are not read directly; leave out --direct";
    }
    files.close(file);
    return false;
  }
  [[nodiscard]] int open_plain(const char* name) const noexcept {
    struct ::statx state{};
    if (files.stat(folder, name, AT_SYMLINK_NOFOLLOW, state) < 0 || !S_ISREG(state.stx_mode))
      return -1;
    ::open_how how{};
    how.flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW;
    return files.open(folder, name, how);
  }

  driver_files& files;
  int folder;
  aligned_block block = make_aligned(direct_alignment);
  std::size_t seen = 0;
  std::string why;
};

}  // namespace

task<std::int64_t> read_directly(int file, byte_span into) {
  const std::size_t block_size = std::min(whole_blocks(into.size()), direct_block_max);
  const aligned_block block = make_aligned(std::max(block_size, direct_alignment));
  bool direct = set_direct(file, true);
  std::size_t have = 0;
  while (have < into.size()) {
    const std::size_t wanted = std::min(block_size, whole_blocks(into.size() - have));
    const std::int64_t got = co_await read_uninterrupted(file, block.get(), wanted, have);
    if (got == -EINVAL &&
        direct) {  // the disk's blocks are larger, or the file system has no other
      direct = false;
      static_cast<void>(set_direct(file, false));
      continue;
    }
    if (got < 0) co_return got;
    const std::size_t part = std::min(static_cast<std::size_t>(got), into.size() - have);
    std::memcpy(into.data() + have, block.get(), part);
    have += part;
    // The end of the file: its last block is not whole.
    if (got == 0 || (direct && static_cast<std::size_t>(got) % direct_alignment != 0)) break;
  }
  co_return static_cast<std::int64_t>(have);
}

std::string why_not_directly(int folder) {
  driver_files& files = heddle::detail::files_here();
  direct_trial trial(files, folder);
  static_cast<void>(files.list(folder, trial));
  return std::move(trial.why);
}

}  // namespace heddle::http
