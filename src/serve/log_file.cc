// SPDX-License-Identifier: MIT
// Opens the file of the log, for appending: several servers may share one.
#include "serve/log_file.hh"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "heddle/base/error.hh"

namespace heddle::serve {
namespace {

constexpr int readable_by_owner_and_group = 0640;  // addresses of visitors are in it

int open_log(const std::string& path) {
  const int fd =
      ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, readable_by_owner_and_group);
  if (fd < 0)
    throw failure({errno, std::generic_category()}, "cannot write the log to '" + path + "'");
  return fd;
}

}  // namespace

log_file::log_file(std::string path)
    : path_(std::move(path)), fd_(path_.empty() ? STDOUT_FILENO : open_log(path_)) {}

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
