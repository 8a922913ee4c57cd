// SPDX-License-Identifier: MIT
// /dev/null for the standard streams that are closed.
#include "heddle/base/detail/standard_streams.hh"

#include <fcntl.h>
#include <unistd.h>

namespace heddle {

void hold_standard_streams() noexcept {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    // The lowest free number is this one, because those below are open.
    int opened = ::open("/dev/null", O_RDWR);
    // Without devices: a folder that can be neither read nor written.
    if (opened < 0) opened = ::open("/", O_PATH);
    static_cast<void>(opened);
  }
}

}  // namespace heddle
