// SPDX-License-Identifier: MIT
// The system calls that the blocking pool makes, one for each operation that can come there.
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "heddle/io/detail/resolve_request.hh"
#include "heddle/io/directory_entry.hh"
#include "io/blocking_pool.hh"

namespace heddle {
namespace {

std::int64_t outcome(long result) noexcept { return result < 0 ? -errno : result; }

std::int64_t list_directory(int fd, std::vector<directory_entry>& out) {
  const int own = ::openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (own < 0) return -errno;
  DIR* dir = ::fdopendir(own);
  if (dir == nullptr) {
    const int error = errno;
    ::close(own);
    return -error;
  }
  errno = 0;
  while (const dirent* entry = ::readdir(dir)) {
    if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
    entry_type type = entry_type::other;
    switch (entry->d_type) {
      case DT_REG:
        type = entry_type::file;
        break;
      case DT_DIR:
        type = entry_type::directory;
        break;
      case DT_LNK:
        type = entry_type::link;
        break;
      case DT_UNKNOWN:
        type = entry_type::unknown;
        break;
      default:
        break;
    }
    out.push_back({entry->d_name, type});
    errno = 0;
  }
  const int error = errno;
  ::closedir(dir);
  return error != 0 ? -error : static_cast<std::int64_t>(out.size());
}

std::int64_t find_addresses(resolve_request& ask) {
  addrinfo hints{};
  hints.ai_family = ask.family;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG | (ask.passive ? AI_PASSIVE : 0);
  addrinfo* found = nullptr;
  const char* host = ask.host.empty() ? nullptr : ask.host.c_str();
  if (host != nullptr) hints.ai_flags &= ~AI_ADDRCONFIG;  // loopback must resolve without a network
  ask.error =
      ::getaddrinfo(host, ask.service.empty() ? nullptr : ask.service.c_str(), &hints, &found);
  if (ask.error == EAI_SYSTEM) return -errno;
  if (ask.error != 0) return 0;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    resolve_request::found_address address;
    if (at->ai_addrlen > address.bytes.size()) continue;
    std::memcpy(address.bytes.data(), at->ai_addr, at->ai_addrlen);
    address.len = at->ai_addrlen;
    ask.found.push_back(address);
  }
  ::freeaddrinfo(found);
  return 0;
}

}  // namespace

std::int64_t perform_blocking(operation& op) noexcept {
  const auto* path = static_cast<const char*>(op.data);
  const auto offset = static_cast<off_t>(op.offset);
  const bool at_cursor_now = op.offset == at_cursor;
  try {
    switch (op.code) {
      case op_code::read:
        return outcome(at_cursor_now ? ::read(op.fd, op.data, op.len)
                                     : ::pread(op.fd, op.data, op.len, offset));
      case op_code::write:
        return outcome(at_cursor_now ? ::write(op.fd, op.data, op.len)
                                     : ::pwrite(op.fd, op.data, op.len, offset));
      case op_code::open:
        // openat2 is for resolve flags: older kernels, and valgrind, have only the other.
        if (const auto& how = *static_cast<const open_how*>(op.more); how.resolve == 0)
          return outcome(::openat(op.fd, path, static_cast<int>(how.flags | O_LARGEFILE),
                                  static_cast<mode_t>(how.mode)));
        return outcome(::syscall(SYS_openat2, op.fd, path, op.more, sizeof(open_how)));
      case op_code::stat:
        return outcome(::statx(op.fd, path, static_cast<int>(op.flags), STATX_BASIC_STATS,
                               static_cast<struct statx*>(op.more)));
      case op_code::sync:
        return outcome(op.flags != 0 ? ::fdatasync(op.fd) : ::fsync(op.fd));
      case op_code::list:
        return list_directory(op.fd, *static_cast<std::vector<directory_entry>*>(op.more));
      case op_code::remove:
        return outcome(::unlinkat(op.fd, path, static_cast<int>(op.flags)));
      case op_code::rename:
        return outcome(::renameat(op.fd, path, op.fd, static_cast<const char*>(op.more)));
      case op_code::make_directory:
        return outcome(::mkdirat(op.fd, path, op.len));
      case op_code::resolve:
        return resolve_blocking(*static_cast<resolve_request*>(op.more));
      case op_code::call:
        return op.function(op.more);
      default:
        return -EOPNOTSUPP;
    }
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  }
}

std::int64_t resolve_blocking(resolve_request& ask) noexcept {
  try {
    return find_addresses(ask);
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  }
}

}  // namespace heddle
