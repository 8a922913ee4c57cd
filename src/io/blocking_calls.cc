// SPDX-License-Identifier: MIT
// The system calls that the blocking pool makes, one for each operation that can come there.
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "heddle/io/detail/resolve_request.hh"
#include "heddle/io/directory_entry.hh"
#include "io/blocking_pool.hh"
#include "io/system_files.hh"

namespace heddle {
namespace {

std::int64_t outcome(long result) noexcept { return result < 0 ? -errno : result; }

std::int64_t list_directory(int fd, std::vector<directory_entry>& out) noexcept {
  struct keeper final : entry_receiver {
    explicit keeper(std::vector<directory_entry>& all) noexcept : entries(all) {}
    bool receive(const char* name, entry_type type) override {
      entries.push_back({name, type});
      return true;
    }
    std::vector<directory_entry>& entries;
  } keep(out);
  const int error = system_files::all.list(fd, keep);
  return error != 0 ? error : static_cast<std::int64_t>(out.size());
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
  system_files& files = system_files::all;
  try {
    switch (op.code) {
      case op_code::read:
        return files.read(op.fd, op.data, op.len, op.offset);
      case op_code::write:
        return files.write(op.fd, op.data, op.len, op.offset);
      case op_code::open:
        return files.open(op.fd, path, *static_cast<const open_how*>(op.more));
      case op_code::stat:
        return files.stat(op.fd, path, op.flags, *static_cast<struct statx*>(op.more));
      case op_code::sync:
        return outcome(op.flags != 0 ? ::fdatasync(op.fd) : ::fsync(op.fd));
      case op_code::list:
        return list_directory(op.fd, *static_cast<std::vector<directory_entry>*>(op.more));
      case op_code::remove:
        return files.remove(op.fd, path, op.flags);
      case op_code::rename:
        return files.rename(op.fd, path, static_cast<const char*>(op.more));
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
