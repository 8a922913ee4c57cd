// SPDX-License-Identifier: MIT
// Two facts about opening files beneath a folder by an operation (op_code::open with
// RESOLVE_BENEATH), for code that does so itself, as the static file server does.
#pragma once

namespace heddle {

/// The kernel answers EAGAIN if a folder above is renamed during a look-up with ".." or a link in
/// it, because it cannot tell whether the path escapes: ask again, up to this often.
inline constexpr int open_tries = 32;

/// Call it for a regular file that was opened with these flags and O_NONBLOCK, which keeps the
/// open() of a pipe from waiting. Clears O_NONBLOCK, because a ring must be free to read the file
/// on another thread where the file system waits.
void end_nonblocking_open(int fd, int flags) noexcept;

}  // namespace heddle
