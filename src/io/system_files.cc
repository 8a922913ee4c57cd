// SPDX-License-Identifier: MIT
// Calls on files, as the kernel answers them.
#include "io/system_files.hh"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <new>

#include "heddle/io/directory_entry.hh"

namespace heddle {
namespace {

template <class Number>
Number outcome(Number result) noexcept {
  return result < 0 ? -errno : result;
}

entry_type entry_type_of(unsigned char kind) noexcept {
  switch (kind) {
    case DT_REG:
      return entry_type::file;
    case DT_DIR:
      return entry_type::directory;
    case DT_LNK:
      return entry_type::link;
    case DT_UNKNOWN:
      return entry_type::unknown;
    default:
      return entry_type::other;
  }
}

/// Reads the entries of a stream. Gives 0 or -errno.
int read_entries(DIR* from, entry_receiver& each) noexcept {
  try {
    for (;;) {
      errno = 0;
      const dirent* const entry = ::readdir(from);
      if (entry == nullptr) return -errno;
      if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
      if (!each.receive(entry->d_name, entry_type_of(entry->d_type))) return 0;
    }
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  }
}

}  // namespace

constinit system_files system_files::all;

int system_files::open(int folder, const char* path, const ::open_how& how) noexcept {
  // openat2 is for resolve flags: older kernels, and valgrind, have only the other.
  if (how.resolve == 0)
    return outcome(::openat(folder, path, static_cast<int>(how.flags | O_LARGEFILE),
                            static_cast<mode_t>(how.mode)));
  return static_cast<int>(outcome(::syscall(SYS_openat2, folder, path, &how, sizeof how)));
}

void system_files::close(int fd) noexcept { ::close(fd); }

std::int64_t system_files::read(int fd, void* into, std::size_t size, std::uint64_t at) noexcept {
  return outcome(at == at_cursor ? ::read(fd, into, size)
                                 : ::pread(fd, into, size, static_cast<off_t>(at)));
}

std::int64_t system_files::write(int fd, const void* from, std::size_t size,
                                 std::uint64_t at) noexcept {
  return outcome(at == at_cursor ? ::write(fd, from, size)
                                 : ::pwrite(fd, from, size, static_cast<off_t>(at)));
}

int system_files::stat(int folder, const char* path, unsigned flags, struct ::statx& out) noexcept {
  return outcome(::statx(folder, path, static_cast<int>(flags), STATX_BASIC_STATS, &out));
}

int system_files::access(int folder, const char* path, int mode) noexcept {
  return outcome(::faccessat(folder, path, mode, AT_EACCESS));
}

int system_files::link(int folder, const char* from, const char* to) noexcept {
  return outcome(::linkat(folder, from, folder, to, 0));
}

int system_files::rename(int folder, const char* from, const char* to) noexcept {
  return outcome(::renameat(folder, from, folder, to));
}

int system_files::remove(int folder, const char* path, unsigned flags) noexcept {
  return outcome(::unlinkat(folder, path, static_cast<int>(flags)));
}

int system_files::list(int folder, entry_receiver& each) noexcept {
  // A descriptor of its own, because closing the stream closes it.
  const int own = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const stream = own < 0 ? nullptr : ::fdopendir(own);
  if (stream == nullptr) {
    const int error = errno;
    if (own >= 0) ::close(own);
    return -error;
  }
  const int result = read_entries(stream, each);
  ::closedir(stream);
  return result;
}

int system_files::path_of(int fd, std::string& out) noexcept {
  char name[32];
  std::snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  std::array<char, PATH_MAX> text;
  const ssize_t got = ::readlink(name, text.data(), text.size());
  if (got < 0) return errno == ENOENT ? -EBADF : -errno;
  if (static_cast<std::size_t>(got) >= text.size()) return -ENAMETOOLONG;
  try {
    out.assign(text.data(), static_cast<std::size_t>(got));
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  }
  return 0;
}

int system_files::set_flags(int fd, int flags) noexcept {
  return outcome(::fcntl(fd, F_SETFL, flags));
}

int system_files::replace(int fd, int next) noexcept {
  return outcome(::dup3(next, fd, O_CLOEXEC));
}

}  // namespace heddle
