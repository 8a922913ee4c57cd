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

heddle::detail::blocking_file open_log(const std::string& path) {
  return heddle::detail::blocking_file(path, O_WRONLY | O_APPEND | O_CREAT, "write the log to",
                                       readable_by_owner_and_group);
}

}  // namespace

log_file::log_file(std::string path) : path_(std::move(path)) {
  if (!path_.empty()) file_ = open_log(path_);
}

int log_file::descriptor() const noexcept { return is_file() ? file_.number() : STDOUT_FILENO; }

void log_file::check(const std::string& path) {
  if (path.empty()) return;
  driver_files& files = heddle::detail::files_here();
  struct ::statx there{};
  const int found = files.stat(AT_FDCWD, path.c_str(), 0, there);
  if (found < 0 && found != -ENOENT) refuse_log(-found, path);
  if (found == 0 && S_ISDIR(there.stx_mode)) refuse_log(EISDIR, path);
  const int error =
      found < 0 ? folder_trouble(folder_of(path)) : -files.access(AT_FDCWD, path.c_str(), W_OK);
  if (error != 0) refuse_log(error, path);
}

void log_file::reopen() {
  if (!is_file()) return;
  const heddle::detail::blocking_file next = open_log(path_);
  const int done = file_.files().replace(file_.number(), next.number());
  if (done < 0) throw failure({-done, std::generic_category()}, "cannot change to the new log");
}

}  // namespace heddle::serve
