// SPDX-License-Identifier: MIT
// Pipes, sources of signals, and what all objects share.
#include "sim/pipe.hh"

#include <poll.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "sim/process.hh"

namespace heddle::sim {

namespace {

class pipe_end final : public object {
 public:
  pipe_end(process& owner, bool reads, std::shared_ptr<byte_queue> queue)
      : object(owner), reads_(reads), queue_(std::move(queue)) {}

  void set_other(std::weak_ptr<object> other) { other_ = std::move(other); }

  std::int64_t get(const transfer& t) override {
    if (!reads_) return -EBADF;
    if (t.socket_call) return -ENOTSOCK;
    if (queue_->len() != 0) {
      const std::size_t moved = queue_->read(t, false);
      if (auto other = other_.lock()) world_.changed(*other);
      return static_cast<std::int64_t>(moved);
    }
    return other_open() ? later : 0;
  }
  std::int64_t put(const transfer& t) override {
    if (reads_) return -EBADF;
    if (t.socket_call) return -ENOTSOCK;
    if (!other_open()) return -EPIPE;
    const std::size_t len = std::min(t.bytes(), queue_->room());
    if (len == 0) return t.bytes() == 0 ? 0 : later;
    std::string bytes(len, '\0');
    t.take(bytes.data(), len);
    queue_->append(bytes);
    auto other = other_.lock();
    owner.record(trace_kind::arrival, other->fd, static_cast<std::int64_t>(len),
                 hash_bytes(bytes.data(), len));
    world_.changed(*other);
    return static_cast<std::int64_t>(len);
  }
  short events() override {
    short now = 0;
    if (reads_ && queue_->len() != 0) now |= POLLIN;
    if (reads_ && !other_open()) now |= POLLHUP;
    if (!reads_ && queue_->room() != 0) now |= POLLOUT;
    if (!reads_ && !other_open()) now |= POLLERR;
    return now;
  }
  void describe(struct ::statx& out) override { out.stx_mode = S_IFIFO | 0600; }
  void closed() override {
    open_ = false;
    if (auto other = other_.lock()) world_.changed(*other);
  }

 private:
  [[nodiscard]] bool other_open() const {
    auto other = other_.lock();
    return other != nullptr && static_cast<pipe_end&>(*other).open_;
  }

  bool reads_;
  bool open_ = true;
  std::shared_ptr<byte_queue> queue_;
  std::weak_ptr<object> other_;
};

}  // namespace

object::object(process& owner) noexcept
    : owner(owner), here(owner.here), number(owner.home.next_object()), world_(owner.home) {}

void transfer::fill(const char* from, std::size_t len) const noexcept {
  for (const ::iovec& piece : pieces) {
    const std::size_t part = std::min(len, piece.iov_len);
    if (part == 0) continue;
    std::memcpy(piece.iov_base, from, part);
    from += part;
    len -= part;
  }
}

void transfer::take(char* to, std::size_t len) const noexcept {
  for (const ::iovec& piece : pieces) {
    const std::size_t part = std::min(len, piece.iov_len);
    if (part == 0) continue;
    std::memcpy(to, piece.iov_base, part);
    to += part;
    len -= part;
  }
}

std::size_t byte_queue::read(const transfer& t, bool peek) {
  const std::size_t moved = std::min(t.bytes(), len());
  t.fill(bytes_.data() + start_, moved);
  if (peek) return moved;
  start_ += moved;
  if (start_ * 2 >= bytes_.size()) {
    bytes_.erase(0, start_);
    start_ = 0;
  }
  return moved;
}

int copy_name(std::span<const char> name, ::sockaddr* out, unsigned* len) noexcept {
  std::memcpy(out, name.data(), std::min<std::size_t>(*len, name.size()));
  *len = static_cast<unsigned>(name.size());
  return 0;
}

std::int64_t signal_reader::get(const transfer& t) {
  std::uint64_t count = 1;
  if (t.socket_call) return -ENOTSOCK;
  if (t.capacity() < sizeof count) return -EINVAL;
  if (events() == 0) return later;
  t.fill(reinterpret_cast<const char*>(&count), sizeof count);
  return sizeof count;
}

short signal_reader::events() { return (owner.signals_raised & mask) != 0 ? POLLIN : 0; }

void signal_reader::describe(struct ::statx& out) { out.stx_mode = 0600; }

void make_pipe(process& owner, std::shared_ptr<object> (&ends)[2]) {
  auto queue = std::make_shared<byte_queue>(owner.options.pipe_buffer_bytes);
  auto reader = std::make_shared<pipe_end>(owner, true, queue);
  auto writer = std::make_shared<pipe_end>(owner, false, queue);
  reader->set_other(writer);
  writer->set_other(reader);
  ends[0] = reader;
  ends[1] = writer;
}

}  // namespace heddle::sim
