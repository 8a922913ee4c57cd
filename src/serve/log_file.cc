// SPDX-License-Identifier: MIT
// Opens the file of the log, for appending: several servers may share one.
#include "serve/log_file.hh"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "heddle/base/error.hh"
#include "serve/writable_folder.hh"

namespace heddle::serve {
namespace {

constexpr int readable_by_owner_and_group = 0640;  // addresses of visitors are in it

[[noreturn]] void refuse_log(int error, const std::string& path) {
  throw failure({error, std::generic_category()}, "cannot write the log to '" + path + "'");
}

int open_log(const std::string& path) {
  const int fd =
      ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, readable_by_owner_and_group);
  if (fd < 0) refuse_log(errno, path);
  return fd;
}

}  // namespace

log_file::log_file(std::string path)
    : path_(std::move(path)), fd_(path_.empty() ? STDOUT_FILENO : open_log(path_)) {}

void log_file::check(const std::string& path) {
  if (path.empty()) return;
  struct ::stat there{};
  const bool exists = ::stat(path.c_str(), &there) == 0;
  if (!exists && errno != ENOENT) refuse_log(errno, path);
  if (exists && S_ISDIR(there.st_mode)) refuse_log(EISDIR, path);
  int error = 0;
  if (!exists) {
    error = folder_trouble(folder_of(path));
  } else if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) {
    error = errno;
  }
  if (error != 0) refuse_log(error, path);
}

log_file::~log_file() {
  if (is_file()) ::close(fd_);
}

void log_file::reopen() {
  if (!is_file()) return;
  const int next = open_log(path_);
  const int done = ::dup3(next, fd_, O_CLOEXEC);
  ::close(next);
  if (done < 0) throw failure({errno, std::generic_category()}, "cannot change to the new log");
}

}  // namespace heddle::serve
