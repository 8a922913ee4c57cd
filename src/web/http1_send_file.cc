// SPDX-License-Identifier: MIT
// Sends a file as an answer's body, in parts. The kernel sends a part in the page cache straight to
// the socket. Any other part is read by the driver, which waits for the disk without blocking the
// worker, and is sent from a buffer. docs/reference/http.md has the measurements behind this
// choice.
#include <sys/uio.h>

#include <algorithm>

#include "heddle/core/deadline.hh"
#include "web/driver_call.hh"
#include "web/file_share.hh"
#include "web/http1_output.hh"

namespace heddle::http {
namespace {

constexpr std::size_t cached_part = 1024 * 1024;  // 128 KiB parts cost 20 % more
constexpr std::size_t read_part = 128 * 1024;

/// Whether the first and the last byte of the part are in the page cache. A file system that cannot
/// tell counts as "not cached".
bool in_memory(int file, std::uint64_t at, std::size_t size) noexcept {
  for (const std::uint64_t where : {at, at + size - 1}) {
    char byte;
    const ::iovec into{&byte, 1};
    if (::preadv2(file, &into, 1, static_cast<off_t>(where), RWF_NOWAIT) != 1) return false;
  }
  return true;
}

}  // namespace

/// Waits until the socket has room; false if that takes too long or the connection is broken.
task<bool> http1_output::has_room() {
  const auto waited =
      co_await as_expected(with_timeout(conn_.writable(), shared_.options.write_timeout));
  if (!waited) static_cast<void>(note_sent(std::unexpected(waited.error()), 0));
  co_return waited.has_value();
}

/// Sends the gathered bytes and a part of the file. Returns the bytes sent of the part; 0 if the
/// file has become shorter; -errno, counted, if it fails.
task<std::int64_t> http1_output::send_cached(int file, std::uint64_t at, std::size_t size) {
  for (;;) {
    const bool part_only = gathered.empty();
    const std::int64_t sent = conn_.send_file_now(byte_view(gathered), file, at, size);
    if (sent >= 0) {
      const std::size_t of_part = drop_sent(static_cast<std::size_t>(sent));
      if (of_part != 0 || part_only) co_return static_cast<std::int64_t>(of_part);
      continue;
    }
    if (sent != -EAGAIN && sent != -EINTR) {
      static_cast<void>(note_sent(std::unexpected(kernel_error(static_cast<int>(sent))), 0));
      co_return sent;
    }
    if (!co_await has_room()) co_return -EIO;
  }
}

/// Sends the gathered bytes and a part of the file, which is read into a buffer.
task<std::int64_t> http1_output::send_read(int file, std::uint64_t at, std::size_t size) {
  if (!co_await flush()) co_return -EIO;
  file_share share(shared_.file_bytes_held, shared_.options.file_bytes_max);
  const std::size_t granted = share.take(size);
  if (granted < size) ++shared_.counters.file_parts_short;
  std::string part(granted, '\0');
  const std::int64_t got = co_await read_uninterrupted(file, part.data(), part.size(), at);
  if (got < 0) ++shared_.counters.errors;
  if (got <= 0) co_return got;
  part.resize(static_cast<std::size_t>(got));
  const bool sent = co_await send_views(part, {}, {});
  co_return sent ? got : -EIO;
}

task<bool> http1_output::send_file(int file, std::uint64_t at, std::uint64_t size) {
  const bool uncopied = conn_.sends_files();
  for (std::uint64_t left = size; left > 0;) {
    const auto large = static_cast<std::size_t>(std::min<std::uint64_t>(left, cached_part));
    const std::size_t small = std::min(large, read_part);
    std::int64_t sent;
    if (uncopied && in_memory(file, at, large)) {
      sent = co_await send_cached(file, at, large);
    } else {
      sent = co_await send_read(file, at, small);
    }
    if (sent == 0)
      ++shared_.counters.errors;  // the file shrank, so the promised length cannot be kept
    if (sent <= 0) co_return false;
    at += static_cast<std::uint64_t>(sent);
    left -= static_cast<std::uint64_t>(sent);
  }
  co_return true;
}

}  // namespace heddle::http
