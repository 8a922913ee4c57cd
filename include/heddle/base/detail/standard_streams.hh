// SPDX-License-Identifier: MIT
// A program may be started with its standard input, output or errors closed. Then the next file or
// socket that it opens gets the number 0, 1 or 2, and error messages are written into it.
#pragma once

namespace heddle {

/// Opens /dev/null under each of the numbers 0, 1 and 2 that is closed. Children inherit it. A
/// runtime with a driver of the kernel calls this first; call it at the start of main() if the
/// program opens files before that.
///
/// Thread: any, before others open files.
void hold_standard_streams() noexcept;

}  // namespace heddle
