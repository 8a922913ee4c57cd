// SPDX-License-Identifier: MIT
// Reading the folder of --state, and replacing its files.
#include "state.hh"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace nfs {
namespace {

constexpr std::size_t exports_bytes_max = 1 << 20;

[[noreturn]] void state_failure(const std::string& path, const std::string& why) {
  throw std::runtime_error("nfs: " + path + ": " + why);
}
[[noreturn]] void system_failure(const std::string& path, const char* what) {
  const int error = errno;
  state_failure(path, std::string(what) + ": " + std::system_category().message(error));
}

class own_fd {
 public:
  explicit own_fd(int fd) noexcept : fd_(fd) {}
  own_fd(const own_fd&) = delete;
  own_fd& operator=(const own_fd&) = delete;
  ~own_fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_;
};

/// The bytes of a file, or nothing if there is none.
std::optional<std::string> read_small(const std::string& path, std::size_t bytes_max) {
  const own_fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (fd.get() < 0) {
    if (errno == ENOENT) return {};
    system_failure(path, "cannot be opened");
  }
  struct stat st{};
  if (::fstat(fd.get(), &st) != 0) system_failure(path, "cannot be read");
  if (!S_ISREG(st.st_mode)) state_failure(path, "is not a file: remove it");
  std::string text(bytes_max + 1, '\0');
  std::size_t len = 0;
  while (len < text.size()) {
    const ssize_t got = ::read(fd.get(), text.data() + len, text.size() - len);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) system_failure(path, "cannot be read");
    if (got == 0) break;
    len += static_cast<std::size_t>(got);
  }
  if (len > bytes_max) state_failure(path, "is too long: it is not of this program");
  text.resize(len);
  return text;
}

/// Others see the old file or the new one, also after a power failure.
void write_whole(const std::string& folder, const char* name, std::string_view bytes) {
  const std::string path = folder + "/" + name;
  const std::string fresh = path + ".new";
  {
    const own_fd fd(
        ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (fd.get() < 0) system_failure(fresh, "cannot be made");
    if (::fchmod(fd.get(), 0600) != 0) system_failure(fresh, "cannot be made private");
    while (!bytes.empty()) {
      const ssize_t put = ::write(fd.get(), bytes.data(), bytes.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) system_failure(fresh, "cannot be written");
      bytes.remove_prefix(static_cast<std::size_t>(put));
    }
    if (::fsync(fd.get()) != 0) system_failure(fresh, "cannot be written");
  }
  if (::rename(fresh.c_str(), path.c_str()) != 0) system_failure(path, "cannot be replaced");
  const own_fd dir(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (dir.get() < 0 || ::fsync(dir.get()) != 0) system_failure(folder, "cannot be synced");
}

}  // namespace

server_state::server_state(std::string folder) : folder_(std::move(folder)) {
  if (::mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST)
    system_failure(folder_, "the folder of --state cannot be made");
  struct stat st{};
  if (::stat(folder_.c_str(), &st) != 0) system_failure(folder_, "--state");
  if (!S_ISDIR(st.st_mode)) state_failure(folder_, "--state names a file: give a folder");
  if ((st.st_mode & 022) != 0)
    state_failure(folder_, "others may change the folder of --state: chmod 700");
  lock_.emplace(folder_);
  read_key();
  read_exports();
}

server_state::folder_lock::folder_lock(const std::string& folder)
    : fd_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  constexpr int tries_max = 40;
  if (fd_ < 0) system_failure(folder, "cannot be opened");
  for (int tries = 1; ::flock(fd_, LOCK_EX | LOCK_NB) != 0; ++tries) {
    const bool taken = errno == EWOULDBLOCK;
    if (taken && tries < tries_max) {
      ::usleep(50'000);
      continue;
    }
    const int error = errno;
    ::close(fd_);
    errno = error;
    if (!taken) system_failure(folder, "cannot be locked");
    state_failure(folder, "another server uses this --state: give each its own");
  }
}

server_state::folder_lock::~folder_lock() { ::close(fd_); }

void server_state::read_key() {
  const std::string path = folder_ + "/key";
  std::optional<std::string> bytes = read_small(path, sizeof key_);
  if (bytes && bytes->size() != sizeof key_)
    state_failure(path, "has " + std::to_string(bytes->size()) +
                            " bytes, not 16: restore it, or remove it and mount again everywhere");
  if (!bytes) {
    bytes.emplace(sizeof key_, '\0');
    if (::getrandom(bytes->data(), bytes->size(), 0) != static_cast<ssize_t>(bytes->size()))
      system_failure(path, "no random bytes");
    write_whole(folder_, "key", *bytes);
  } else {
    struct stat st{};
    if (::stat(path.c_str(), &st) == 0 && (st.st_mode & 077) != 0)
      state_failure(path, "others may read it, and could make handles: chmod 600, or remove it");
  }
  std::memcpy(key_.data(), bytes->data(), sizeof key_);
}

void server_state::read_exports() {
  const std::string path = folder_ + "/exports";
  const std::optional<std::string> text = read_small(path, exports_bytes_max);
  if (!text) return;
  std::string_view rest = *text;
  for (int line = 1; !rest.empty(); ++line) {
    const std::size_t end = rest.find('\n');
    const std::string_view entry = rest.substr(0, end);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    unsigned number = 0;
    const auto [after, error] = std::from_chars(entry.data(), entry.data() + entry.size(), number);
    const std::size_t digits = static_cast<std::size_t>(after - entry.data());
    const bool good = error == std::errc() && number < 256 && digits + 2 <= entry.size() &&
                      entry[digits] == ' ' && end != entry.npos;
    bool fresh = false;
    if (good) {
      fresh = true;
      for (const auto& [known, its] : numbers_) fresh = fresh && its != number;
      fresh =
          numbers_.emplace(entry.substr(digits + 1), static_cast<std::uint8_t>(number)).second &&
          fresh;
    }
    if (!good || !fresh)
      state_failure(path + ":" + std::to_string(line),
                    "is no line \"NUMBER PATH\" with a new number up to 255 and a new path");
  }
}

std::uint8_t server_state::number_of(const std::string& path) {
  if (const auto known = numbers_.find(path); known != numbers_.end()) return known->second;
  if (path.empty() || path.find('\n') != path.npos)
    state_failure(folder_, "an exported path is empty or has a line break");
  unsigned next = 0;
  for (const auto& [known, number] : numbers_) next = std::max(next, number + 1U);
  if (next > 255)
    state_failure(folder_ + "/exports",
                  "has 256 paths already; with another --state, clients "
                  "must mount again");
  numbers_.emplace(path, static_cast<std::uint8_t>(next));
  write_exports();
  return static_cast<std::uint8_t>(next);
}

void server_state::write_exports() const {
  std::string text;
  for (const auto& [path, number] : numbers_) text += std::to_string(number) + " " + path + "\n";
  write_whole(folder_, "exports", text);
}

}  // namespace nfs
