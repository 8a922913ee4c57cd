// SPDX-License-Identifier: MIT
// Formats lines, and appends them to the file in blocks under a lock. A block begins with the
// number of its bus, which is the length that the file had before the bus's first block.
#include "heddle/bus/detail/trace_writer.hh"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "heddle/base/error.hh"
#include "heddle/sched/driver.hh"

namespace heddle::detail {

namespace {

constexpr std::size_t block_bytes = 65536;

[[noreturn]] void fail_trace(int error, const std::string& path, const char* what) {
  throw failure(std::error_code(error, std::generic_category()), path + ": " + what);
}

/// A file that is open, and locked for other writers of the same trace.
class locked_file {
 public:
  explicit locked_file(const std::string& path) noexcept
      : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
    if (fd_ >= 0) ::flock(fd_, LOCK_EX);
  }
  locked_file(const locked_file&) = delete;
  locked_file& operator=(const locked_file&) = delete;
  ~locked_file() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int number() const noexcept { return fd_; }
  /// The length in bytes of a regular file; -1 for anything else.
  [[nodiscard]] std::int64_t len() const noexcept {
    struct stat about{};
    if (::fstat(fd_, &about) < 0 || !S_ISREG(about.st_mode)) return -1;
    return about.st_size;
  }
  [[nodiscard]] bool append(std::string_view text) const noexcept {
    while (!text.empty()) {
      const ssize_t n = ::write(fd_, text.data(), text.size());
      if (n < 0) return false;
      text.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

 private:
  int fd_;
};

/// The time of the program: that of a simulated world in its runs, else that of the machine.
std::chrono::nanoseconds trace_clock(bool simulated) noexcept {
  const worker* const w = worker::current();
  if (simulated && w != nullptr) return w->now.time_since_epoch();
  return std::chrono::steady_clock::now().time_since_epoch();
}

bool in_simulation() noexcept {
  const worker* const w = worker::current();
  return w != nullptr && w->io != nullptr && w->io->simulated();
}

}  // namespace

std::string trace_word(std::string_view name, std::uint32_t number) {
  std::string out(name);
  if (number != 0) out += '#' + std::to_string(number);
  if (!out.empty() && out.find_first_of(" \"\\") == out.npos) return out;
  std::string quoted = "\"";
  for (const char c : out) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

trace_writer::trace_writer(std::string path, std::uint64_t bytes_max)
    : path_(std::filesystem::absolute(path)),  // the program may change its directory
      bytes_max_(bytes_max),
      simulated_(in_simulation()),
      began_(trace_clock(simulated_)) {
  const locked_file file(path_);
  if (!file.is_open())
    fail_trace(errno, path_, "the trace cannot be opened; HEDDLE_BUS_TRACE names a file");
  const std::int64_t len = file.len();
  if (len < 0) fail_trace(EINVAL, path_, "HEDDLE_BUS_TRACE must name a regular file");
  const std::string first = std::string(first_line) + '\n';
  if (len == 0) {
    if (!file.append(first)) fail_trace(errno, path_, "the trace cannot be written");
    return;
  }
  std::string found(first.size(), '\0');
  if (::pread(file.number(), found.data(), found.size(), 0) != static_cast<ssize_t>(found.size()) ||
      found != first)
    fail_trace(EINVAL, path_,
               "not a trace; remove the file, or name another one in HEDDLE_BUS_TRACE");
}

std::string trace_writer::time() const {
  const auto us =
      std::chrono::duration_cast<std::chrono::microseconds>(trace_clock(simulated_) - began_)
          .count();
  char text[40];
  std::snprintf(text, sizeof text, "%lld.%06lld ", static_cast<long long>(us / 1'000'000),
                static_cast<long long>(us % 1'000'000));
  return text;
}

void trace_writer::line(std::string text) {
  if (full_ || error_ != 0) return;
  buffer_ += time();
  buffer_ += text;
  buffer_ += '\n';
  if (buffer_.size() >= block_bytes) flush();
}

void trace_writer::flush() {
  if (buffer_.empty() || error_ != 0) return;
  const locked_file file(path_);
  const std::int64_t len = file.is_open() ? file.len() : -1;
  if (len < 0) {
    error_ = errno != 0 ? errno : EIO;
    return;
  }
  const auto before = static_cast<std::uint64_t>(len);
  if (bus_.empty()) bus_ = "bus " + std::to_string(before) + '\n';
  std::string block = bus_ + std::exchange(buffer_, {});
  const std::string end = "full\n";
  if (before + block.size() + end.size() > bytes_max_) {
    // Whole lines, as many as fit. Other buses find the file full, too.
    full_ = true;
    const std::uint64_t room = bytes_max_ - std::min(bytes_max_, before + end.size());
    block.resize(std::min<std::uint64_t>(block.size(), room));
    block.resize(block.rfind('\n') + 1);
    if (block.size() <= bus_.size()) return;  // no line of this bus fits
    block += end;
  }
  if (!file.append(block)) error_ = errno;
}

void trace_writer::raised(std::string_view topic, std::string_view by) {
  line("raise " + trace_word(topic) + " sync 0" + std::string(by));
}

void trace_writer::requested(std::string_view topic, nanoseconds span, std::string_view by) {
  char ms[48];
  const auto us =
      std::chrono::duration_cast<std::chrono::microseconds>(std::max(span, nanoseconds::zero()))
          .count();
  std::snprintf(ms, sizeof ms, " async %lld.%03lld", static_cast<long long>(us / 1000),
                static_cast<long long>(us % 1000));
  line("raise " + trace_word(topic) + ms + std::string(by));
}

void trace_writer::bound(std::string_view topic, bool haltable, std::string_view order,
                         std::string_view handler) {
  line("bind " + trace_word(topic) + (haltable ? " haltable " : " plain ") + std::string(order) +
       ' ' + std::string(handler));
}

void trace_writer::unbound(std::string_view topic, std::string_view order,
                           std::string_view handler) {
  line("unbind " + trace_word(topic) + ' ' + std::string(order) + ' ' + std::string(handler));
}

void trace_writer::finish() {
  flush();
  if (error_ != 0) fail_trace(error_, path_, "the trace cannot be written");
}

}  // namespace heddle::detail
