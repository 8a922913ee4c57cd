// SPDX-License-Identifier: MIT
// A file as an answer's body, in parts. A part that is in the system's memory goes from there to
// the socket; any other is read by the driver, which waits for the disk without keeping the worker,
// and sent from a buffer. docs/reference/http.md has the figures that decided it.
#include <poll.h>
#include <sys/uio.h>

#include <algorithm>

#include "heddle/core/deadline.hh"
#include "heddle/sched/driver.hh"
#include "http/driver_call.hh"
#include "http/exchange.hh"

namespace heddle::http {
namespace {

constexpr std::size_t cached_part = 1024 * 1024;  // 128 KiB at a time cost 20 % more
constexpr std::size_t read_part = 128 * 1024;
constexpr std::size_t short_part = 4096;

/// Whether the part's first and last byte are in memory: read ahead of need, or read before. A file
/// system that cannot tell has nothing in memory.
bool in_memory(int file, std::uint64_t at, std::size_t size) noexcept {
  for (const std::uint64_t where : {at, at + size - 1}) {
    char byte;
    const ::iovec into{&byte, 1};
    if (::preadv2(file, &into, 1, static_cast<off_t>(where), RWF_NOWAIT) != 1) return false;
  }
  return true;
}

/// Until the socket has room.
struct room_wait : heddle::detail::one_operation {
  explicit room_wait(int socket) noexcept : one_operation(op_code::poll, socket, "send file") {
    flags = POLLOUT;
  }
  [[nodiscard]] std::int64_t await_resume() const {
    const std::int64_t outcome = one_operation::await_resume();
    heddle::detail::check_outcome(outcome);
    return outcome;
  }
};

/// A share of the memory for files on their way.
class file_share {
 public:
  file_share(std::size_t& held, std::size_t most) noexcept : held_(held), most_(most) {}
  ~file_share() { held_ -= size_; }
  file_share(const file_share&) = delete;

  /// The size that a part may have now.
  [[nodiscard]] std::size_t take(std::size_t wanted) noexcept {
    held_ -= size_;
    size_ = held_ + wanted <= most_ ? wanted : std::min(wanted, short_part);
    held_ += size_;
    return size_;
  }

 private:
  std::size_t& held_;
  std::size_t most_;
  std::size_t size_ = 0;
};

}  // namespace

/// Waits until the socket has room; false when that does not come in time, or it is broken.
task<bool> exchange::has_room() {
  room_wait room(conn_.number());
  const auto waited = co_await as_expected(with_timeout(room, owner_.options_.write_timeout));
  if (!waited) static_cast<void>(note_sent(std::unexpected(waited.error()), 0));
  co_return waited.has_value();
}

/// What is gathered and a part behind it. Bytes of the part that went; 0: the file is shorter than
/// it was; below: -errno, counted.
task<std::int64_t> exchange::send_cached(int file, std::uint64_t at, std::size_t size) {
  for (;;) {
    const bool part_only = out_.empty();
    const std::int64_t sent = worker::running().io->send_file_now(
        conn_.number(), ::iovec{out_.data(), out_.size()}, file, at, size);
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

/// The same through memory of our own.
task<std::int64_t> exchange::send_read(int file, std::uint64_t at, std::size_t size) {
  if (!co_await flush()) co_return -EIO;
  file_share share(owner_.file_bytes_held_, owner_.options_.file_bytes_max);
  const std::size_t granted = share.take(size);
  if (granted < size) ++owner_.counters_.file_parts_short;
  std::string part(granted, '\0');
  const std::int64_t got = co_await read_at(file, part.data(), part.size(), at);
  if (got < 0) ++owner_.counters_.errors;
  if (got <= 0) co_return got;
  part.resize(static_cast<std::size_t>(got));
  auto sent = co_await as_expected(
      with_timeout(conn_.write(byte_view(part)), owner_.options_.write_timeout));
  const bool went = note_sent(sent, part.size());
  co_return went ? got : -EIO;
}

task<bool> exchange::send_file(response& r) {
  const bool uncopied = worker::running().io->send_file_from() != ~std::size_t{0};
  const int file = r.file_.number();
  std::uint64_t at = r.file_offset_;
  for (std::uint64_t left = r.file_length_; left > 0;) {
    const auto large = static_cast<std::size_t>(std::min<std::uint64_t>(left, cached_part));
    const std::size_t small = std::min(large, read_part);
    std::int64_t sent;
    if (uncopied && in_memory(file, at, large)) {
      sent = co_await send_cached(file, at, large);
    } else {
      sent = co_await send_read(file, at, small);
    }
    if (sent == 0) ++owner_.counters_.errors;  // it shrank: the promised length cannot be kept
    if (sent <= 0) co_return false;
    at += static_cast<std::uint64_t>(sent);
    left -= static_cast<std::uint64_t>(sent);
  }
  co_return true;
}

}  // namespace heddle::http
