// SPDX-License-Identifier: MIT
// Profiles in files. Adding to a file locks it, so that several processes may profile into one
// file, and writes it in place. A reader in between sees a text without its end and rejects it.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "heddle/base/error.hh"
#include "heddle/bus/profile.hh"

namespace heddle {

namespace {

[[noreturn]] void fail(int error, const std::string& path, const char* what) {
  throw failure(std::error_code(error, std::generic_category()), path + ": " + what);
}

[[noreturn]] void refuse(const std::string& path, const profile_problem& problem,
                         const char* advice) {
  throw failure(std::make_error_code(std::errc::invalid_argument),
                path + ':' + std::to_string(problem.line) + ": " + problem.what + "; " + advice);
}

class descriptor_guard {
 public:
  explicit descriptor_guard(int fd) noexcept : fd_(fd) {}
  descriptor_guard(const descriptor_guard&) = delete;
  descriptor_guard& operator=(const descriptor_guard&) = delete;
  ~descriptor_guard() { ::close(fd_); }

 private:
  int fd_;
};

std::string read_all(int fd, const std::string& path) {
  const profile_limits limits;
  std::string text;
  std::size_t len = 0;
  for (;;) {
    text.resize(len + 65536);
    const ssize_t n = ::read(fd, text.data() + len, 65536);
    if (n < 0) fail(errno, path, "the profile cannot be read");
    len += static_cast<std::size_t>(n);
    if (n == 0 || len > limits.text_len_max) break;
  }
  text.resize(len);
  return text;
}

void write_all(int fd, const std::string& text, const std::string& path) {
  if (::ftruncate(fd, 0) < 0 || ::lseek(fd, 0, SEEK_SET) < 0)
    fail(errno, path, "the profile cannot be written");
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t n = ::write(fd, text.data() + at, text.size() - at);
    if (n < 0) fail(errno, path, "the profile cannot be written");
    at += static_cast<std::size_t>(n);
  }
}

}  // namespace

profile_data read_profile(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    fail(errno, path,
         "no profile; make one with HEDDLE_PROFILE="
         "FILE PROGRAM");
  const descriptor_guard guard(fd);
  ::flock(fd, LOCK_SH);  // without locks, a missing last line shows a partial write
  auto read = parse_profile(read_all(fd, path));
  if (!read) refuse(path, read.error(), "profile the program again, into a new file");
  return std::move(*read);
}

void add_profile_to_file(const std::string& path, const profile_data& more) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) fail(errno, path, "the profile cannot be opened; HEDDLE_PROFILE names a file");
  const descriptor_guard guard(fd);
  struct stat about{};
  if (::fstat(fd, &about) < 0 || !S_ISREG(about.st_mode))
    fail(EINVAL, path, "HEDDLE_PROFILE must name a regular file");
  ::flock(fd, LOCK_EX);
  const std::string text = read_all(fd, path);
  profile_data sum;
  sum.compiler = more.compiler;
  if (!text.empty()) {
    auto read = parse_profile(text);
    if (!read) refuse(path, read.error(), "remove the file, or name another one in HEDDLE_PROFILE");
    if (more.topics.empty()) return;
    if (read->compiler == more.compiler) sum = std::move(*read);
  }
  if (more.topics.empty() && more.compiler.empty())
    return;  // the caller only tested whether the file is writable
  add_profile(sum, more);
  write_all(fd, to_text(sum), path);
}

}  // namespace heddle
