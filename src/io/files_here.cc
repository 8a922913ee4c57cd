// SPDX-License-Identifier: MIT
// The choice between the files of the system and those of a simulation.
#include "heddle/io/detail/files_here.hh"

#include <fcntl.h>
#include <linux/openat2.h>

#include <cerrno>

#include "heddle/base/error.hh"
#include "heddle/sched/driver.hh"
#include "io/system_files.hh"

namespace heddle::detail {
driver_files& files_here() noexcept {
  const worker* const w = worker::current();
  driver_files* const simulated =
      w != nullptr && w->io != nullptr ? w->io->blocking_files() : nullptr;
  return simulated != nullptr ? *simulated : system_files::all;
}

blocking_file::blocking_file(const std::string& path, int flags, const char* verb, unsigned mode)
    : files_(&files_here()) {
  ::open_how how{};
  how.flags = static_cast<unsigned>(flags) | O_CLOEXEC;
  how.mode = mode;
  fd_ = path.find('\0') == path.npos ? files_->open(AT_FDCWD, path.c_str(), how) : -EINVAL;
  if (fd_ < 0)
    throw failure({-fd_, std::generic_category()},
                  "cannot " + std::string(verb) + " '" + path + "'");
}

std::string read_file_now(const std::string& path, const char* verb, std::size_t limit) {
  const blocking_file in(path, O_RDONLY, verb);
  constexpr std::size_t step = 64 * 1024;
  std::string text;
  for (;;) {
    const std::size_t have = text.size();
    text.resize(have + step);
    const std::int64_t got = in.files().read(in.number(), text.data() + have, step);
    text.resize(have + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got == 0) return text;
    if (got < 0 && got != -EINTR)
      throw failure({static_cast<int>(-got), std::generic_category()},
                    "cannot " + std::string(verb) + " '" + path + "'");
    if (text.size() > limit)
      throw failure(std::make_error_code(std::errc::file_too_large),
                    "'" + path + "' has more than " + std::to_string(limit) + " bytes");
  }
}

}  // namespace heddle::detail
