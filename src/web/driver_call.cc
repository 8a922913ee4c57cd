// SPDX-License-Identifier: MIT
// The one file call whose flags need a system header.
#include "web/driver_call.hh"

#include <fcntl.h>

namespace heddle::http {

stat_open::stat_open(int file, struct ::statx& out) noexcept
    : one_operation(op_code::stat, file, "stat") {
  data = const_cast<char*>("");
  flags = AT_EMPTY_PATH;
  more = &out;
}

}  // namespace heddle::http
