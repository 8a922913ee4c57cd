// SPDX-License-Identifier: MIT
// Blocks in a file without a name. Bytes may still be on their way when their block is given back:
// the kernel then holds the pages, so pages are never written a second time. So a block's place in
// the file is never used again: the file is as long as all blocks together that were ever made, and
// holds pages only for existing blocks.
#include "heddle/io/page_store.hh"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <new>

namespace heddle {
namespace {

// Blocks never share a page, not even a large one.
constexpr std::uint64_t large_page = page_store::large_page_bytes;
constexpr std::uint64_t spacing = large_page;
// Newer than the headers of some systems: Linux 6.1, and 5.14.
constexpr int madvise_collapse = 25;
constexpr int madvise_populate_write = 23;
// A large page takes some 400 us, of which most is to clear it. Where the system has to move others
// out of the way for it, a worker waits too long.
constexpr auto patience = std::chrono::milliseconds(20);
constexpr std::uint64_t file_end = std::uint64_t{1} << 62;  // some 2^41 blocks

int open_file() noexcept {
#if defined(MFD_NOEXEC_SEAL)
  constexpr unsigned not_a_program = MFD_NOEXEC_SEAL;
#else
  constexpr unsigned not_a_program = 8;
#endif
  const int fd = ::memfd_create("heddle pages", MFD_CLOEXEC | not_a_program);
  if (fd >= 0 || errno != EINVAL) return fd;
  return ::memfd_create("heddle pages", MFD_CLOEXEC);  // before Linux 6.3
}

/// The offset at which the next block may begin.
std::uint64_t behind(std::uint64_t at, std::size_t bytes) noexcept {
  return (at + bytes + spacing - 1) / spacing * spacing;
}

/// Drops the pages up to the next block, so whole pages only. The kernel leaves dropped pages as
/// they are, for sends in progress, but would write zeros into a page that is dropped in part.
void forget(int fd, std::uint64_t at, std::size_t bytes) noexcept {
  ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(at),
              static_cast<off_t>(behind(at, bytes) - at));
}

// All pages of a block are there from the beginning: touching them later must not fail.

void* map_small(int fd, std::uint64_t at, std::size_t bytes) noexcept {
  const auto from = static_cast<off_t>(at);
  if (::fallocate(fd, 0, from, static_cast<off_t>(bytes)) != 0) return MAP_FAILED;
  return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, from);
}

/// Maps large pages if the system gives them. They need a mapping aligned to the size of a large
/// page, and one small page in each before the system collapses it into a large one.
void* map_large(int fd, std::uint64_t at, std::size_t bytes) noexcept {
  const std::size_t reserved = bytes + large_page;
  void* const room =
      ::mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return MAP_FAILED;
  auto* const first = static_cast<std::byte*>(room);
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(room) % large_page;
  std::byte* const begin = first + before;
  if (before != 0) ::munmap(first, before);
  if (before != large_page) ::munmap(begin + bytes, large_page - before);
  const auto from = static_cast<off_t>(at);
  if (::mmap(begin, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, from) ==
      MAP_FAILED) {
    ::munmap(begin, bytes);
    return MAP_FAILED;
  }
  for (std::size_t i = 0; i < bytes; i += large_page)
    if (::fallocate(fd, 0, from + static_cast<off_t>(i), 1) == 0)
      ::madvise(begin + i, large_page, madvise_collapse);
  if (::fallocate(fd, 0, from, static_cast<off_t>(bytes)) != 0) {
    ::munmap(begin, bytes);
    return MAP_FAILED;
  }
  ::madvise(begin, bytes, madvise_populate_write);
  return begin;
}

}  // namespace

struct page_store::store_file {
  explicit store_file(int number) noexcept : fd(number) {
    // A file that grows beyond this limit would end the process.
    rlimit limit{};
    if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < end) end = limit.rlim_cur;
  }
  int fd;
  std::size_t users = 1;    ///< blocks, and the store
  bool large_pages = true;  ///< the system is quick to give them
  std::uint64_t next = 0;
  std::uint64_t end = file_end;
};

void page_store::drop(store_file* file) noexcept {
  if (--file->users != 0) return;
  ::close(file->fd);
  delete file;
}

page_store::~page_store() {
  if (file_ != nullptr) drop(file_);
}

page_block page_store::allocate(std::size_t bytes) noexcept {
  page_block made;
  if (bytes == 0) return made;
  if (file_ == nullptr) {
    const int fd = open_file();
    if (fd < 0) return made;
    file_ = new (std::nothrow) store_file(fd);
    if (file_ == nullptr) {
      ::close(fd);
      return made;
    }
  }
  const std::uint64_t at = file_->next;
  if (bytes > file_->end || at > file_->end - bytes) return made;
  void* memory;
  if (bytes % large_page == 0 && file_->large_pages) {
    const auto since = std::chrono::steady_clock::now();
    memory = map_large(file_->fd, at, bytes);
    file_->large_pages = std::chrono::steady_clock::now() - since < patience * (bytes / large_page);
  } else {
    memory = map_small(file_->fd, at, bytes);
  }
  if (memory == MAP_FAILED) {
    forget(file_->fd, at, bytes);
    return made;
  }
  file_->next = behind(at, bytes);
  made.file_ = file_;
  made.bytes_ = {memory, bytes};
  made.at_ = at;
  ++file_->users;
  return made;
}

file_place page_block::place() const noexcept {
  return file_ != nullptr ? file_place{file_->fd, at_} : file_place{};
}

void page_block::give_back() noexcept {
  ::munmap(bytes_.data(), bytes_.size());
  forget(file_->fd, at_, bytes_.size());
  page_store::drop(file_);
}

}  // namespace heddle
