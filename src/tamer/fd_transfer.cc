// SPDX-License-Identifier: MIT
// Reading and writing: each operation tries its call first, and waits for readiness when the call
// would block. The loop is a tamed function, written out as the translator would.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "tamer/descriptor.hh"
#include "tamer/guarded_slot.hh"

namespace tamer {

namespace detail {
namespace {

/// The receivers of an operation's count and result.
struct count_and_int {
  count_and_int(std::size_t* c, event<int> d) : done(std::move(d)) {
    if (c == nullptr || !done) return;
    count = guarded_slot<std::size_t>(*c);
    *c = 0;
  }
  void note(std::size_t n) const noexcept {
    if (std::size_t* const c = count.get()) *c = n;
  }
  void end(std::size_t, int result) const { done.trigger(result); }
  [[nodiscard]] event<> unblocker() const { return done.unblocker(); }
  guarded_slot<std::size_t> count;
  event<int> done;
};
struct pair_of_both {
  explicit pair_of_both(event<std::size_t, int> d) noexcept : done(std::move(d)) {}
  void note(std::size_t n) const noexcept {
    if (std::size_t* const c = done.result_pointer<0>()) *c = n;
  }
  void end(std::size_t n, int result) const { done.trigger(n, result); }
  [[nodiscard]] event<> unblocker() const { return done.unblocker(); }
  event<std::size_t, int> done;
};

/// One call that does not wait, on a descriptor that was ready: bytes, or -errno. A blocking socket
/// or pipe is asked for no more than what moves at once, because a write would else wait until all
/// its bytes fit, and the worker with it. Files are always ready.
ssize_t move_now(int number, bool reads, const iovec* pieces, int count, bool blocks) noexcept {
  if (blocks) {
    const ssize_t n = reads ? ::preadv2(number, pieces, count, -1, RWF_NOWAIT)
                            : ::pwritev2(number, pieces, count, -1, RWF_NOWAIT);
    if (n >= 0) return n;
    const int error = errno;
    struct stat about;
    const bool file = error == EAGAIN && ::fstat(number, &about) == 0 && S_ISREG(about.st_mode);
    if (error != EOPNOTSUPP && !file) return -error;
  }
  const ssize_t n = reads ? ::readv(number, pieces, count) : ::writev(number, pieces, count);
  return n < 0 ? -errno : n;
}
ssize_t move_now(int number, bool reads, const void* bytes, std::size_t size,
                 bool blocks) noexcept {
  const iovec piece{const_cast<void*>(bytes), size};
  return move_now(number, reads, &piece, 1, blocks);
}

/// The loop of every transfer: `step(descriptor, offset, blocks)` makes one call and gives bytes or
/// -errno.
template <class Tell, class Step>
void transfer(fd f, bool reads, std::size_t size, bool once, Tell tell, Step step) {
  descriptor* const d = descriptor::of(f);
  if (!f) {
    tell.end(0, d == nullptr ? -EBADF : d->number);
    co_return;
  }
  event<> wanted = tell.unblocker();
  if (!wanted) co_return;
  heddle::rendezvous<int> r;
  int which = its_turn;
  turn mine(reads ? d->reading : d->writing);
  if (!mine.take()) {
    wanted.at_trigger(r.make_event(end_of_event));
    mine.wait(r.make_event(its_turn));
    co_await ::heddle::tame::next(r, which);
    if (which == its_turn || r.has_ready()) mine.got();  // the turn may have come, too
    if (which == end_of_event) co_return;
  }
  bool listens = which == its_turn && r.has_waiting();
  std::size_t done = 0;
  int result = 0;
  bool ready = !d->blocks();
  while (done < size || size == 0) {
    if (!f) {
      result = -ECANCELED;
      break;
    }
    if (ready) {
      const ssize_t n = step(d->number, done, d->blocks());
      if (n > 0) {
        done += static_cast<std::size_t>(n);
        tell.note(done);
        if (once) break;
        if (d->mode == descriptor::blocking) ready = false;
        continue;
      }
      if (n == 0) break;
      if (n == -EINTR) continue;
      if (n != -EAGAIN && n != -EWOULDBLOCK) {
        result = static_cast<int>(n);
        break;
      }
    }
    if (!listens) {
      wanted.at_trigger(r.make_event(end_of_event));
      listens = true;
    }
    int outcome = 0;
    if (reads) {
      at_fd_read(d->number, r.make_event(readiness, outcome));
    } else {
      at_fd_write(d->number, r.make_event(readiness, outcome));
    }
    co_await ::heddle::tame::next(r, which);
    if (which == end_of_event) co_return;
    if (outcome == -ECANCELED || !f) {
      result = -ECANCELED;
      break;
    }
    ready = true;
  }
  tell.end(done, result);
  co_return;
}

struct read_step {
  read_step(void* b, std::size_t n) : size(n) {
    if (n != 0) buffer = guarded_slot<char>(*static_cast<char*>(b));
  }
  guarded_slot<char> buffer;
  std::size_t size;
  ssize_t operator()(int number, std::size_t done, bool blocks) const noexcept {
    char* const into = buffer.get();
    if (into == nullptr) return size == 0 ? 0 : -ECANCELED;  // the buffer's function has ended
    return move_now(number, true, into + done, size - done, blocks);
  }
};
struct write_step {
  const void* buffer;
  std::size_t size;
  ssize_t operator()(int number, std::size_t done, bool blocks) const noexcept {
    return move_now(number, false, static_cast<const char*>(buffer) + done, size - done, blocks);
  }
};
struct write_string_step {
  std::shared_ptr<const std::string> text;
  ssize_t operator()(int number, std::size_t done, bool blocks) const noexcept {
    return move_now(number, false, text->data() + done, text->size() - done, blocks);
  }
};

/// Transfers the pieces from an offset on.
struct pieces_step {
  pieces_step(const iovec* from, int len, bool reads_) : pieces(from, from + len), reads(reads_) {}
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t n = 0;
    for (const iovec& p : pieces) n += p.iov_len;
    return n;
  }
  ssize_t operator()(int number, std::size_t done, bool blocks) const {
    std::vector<iovec> rest;
    for (iovec p : pieces) {
      if (done >= p.iov_len) {
        done -= p.iov_len;
        continue;
      }
      p.iov_base = static_cast<char*>(p.iov_base) + done;
      p.iov_len -= done;
      done = 0;
      rest.push_back(p);
    }
    const int len = static_cast<int>(std::min<std::size_t>(rest.size(), 1024));
    return move_now(number, reads, rest.data(), len, blocks);
  }
  std::vector<iovec> pieces;
  bool reads;
};

/// Sends one message, with a descriptor if `passed` is one.
ssize_t send_message(int number, const void* buffer, std::size_t size, int passed,
                     bool blocks) noexcept {
  iovec piece{const_cast<void*>(buffer), size};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (passed >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(head), &passed, sizeof passed);
  }
  const ssize_t n = ::sendmsg(number, &message, MSG_NOSIGNAL | (blocks ? MSG_DONTWAIT : 0));
  return n < 0 ? -errno : n;
}

}  // namespace
}  // namespace detail

using detail::count_and_int;
using detail::pair_of_both;
using detail::transfer;

void fd::read(void* buffer, std::size_t size, std::size_t& count, int_event done) {
  transfer(*this, true, size, false, count_and_int(&count, std::move(done)),
           detail::read_step(buffer, size));
}
void fd::read(void* buffer, std::size_t size, event<std::size_t, int> done) {
  transfer(*this, true, size, false, pair_of_both(std::move(done)),
           detail::read_step(buffer, size));
}
void fd::read(void* buffer, std::size_t size, int_event done) {
  transfer(*this, true, size, false, count_and_int(nullptr, std::move(done)),
           detail::read_step(buffer, size));
}
void fd::read(const iovec* pieces, int len, std::size_t& count, int_event done) {
  detail::pieces_step step(pieces, len, true);
  const std::size_t size = step.size();
  transfer(*this, true, size, false, count_and_int(&count, std::move(done)), std::move(step));
}
void fd::read_once(void* buffer, std::size_t size, std::size_t& count, int_event done) {
  transfer(*this, true, size, true, count_and_int(&count, std::move(done)),
           detail::read_step(buffer, size));
}
void fd::read_once(void* buffer, std::size_t size, event<std::size_t, int> done) {
  transfer(*this, true, size, true, pair_of_both(std::move(done)), detail::read_step(buffer, size));
}
void fd::read_once(const iovec* pieces, int len, std::size_t& count, int_event done) {
  detail::pieces_step step(pieces, len, true);
  const std::size_t size = step.size();
  transfer(*this, true, size, true, count_and_int(&count, std::move(done)), std::move(step));
}

void fd::write(const void* buffer, std::size_t size, std::size_t& count, int_event done) {
  transfer(*this, false, size, false, count_and_int(&count, std::move(done)),
           detail::write_step{buffer, size});
}
void fd::write(const void* buffer, std::size_t size, event<std::size_t, int> done) {
  transfer(*this, false, size, false, pair_of_both(std::move(done)),
           detail::write_step{buffer, size});
}
void fd::write(const void* buffer, std::size_t size, int_event done) {
  transfer(*this, false, size, false, count_and_int(nullptr, std::move(done)),
           detail::write_step{buffer, size});
}
void fd::write(std::string text, std::size_t& count, int_event done) {
  const std::size_t size = text.size();
  transfer(*this, false, size, false, count_and_int(&count, std::move(done)),
           detail::write_string_step{std::make_shared<const std::string>(std::move(text))});
}
void fd::write(std::string text, event<std::size_t, int> done) {
  const std::size_t size = text.size();
  transfer(*this, false, size, false, pair_of_both(std::move(done)),
           detail::write_string_step{std::make_shared<const std::string>(std::move(text))});
}
void fd::write(std::string text, int_event done) {
  const std::size_t size = text.size();
  transfer(*this, false, size, false, count_and_int(nullptr, std::move(done)),
           detail::write_string_step{std::make_shared<const std::string>(std::move(text))});
}
void fd::write(const iovec* pieces, int len, std::size_t& count, int_event done) {
  detail::pieces_step step(pieces, len, false);
  const std::size_t size = step.size();
  transfer(*this, false, size, false, count_and_int(&count, std::move(done)), std::move(step));
}
void fd::write_once(const void* buffer, std::size_t size, std::size_t& count, int_event done) {
  transfer(*this, false, size, true, count_and_int(&count, std::move(done)),
           detail::write_step{buffer, size});
}
void fd::write_once(const void* buffer, std::size_t size, event<std::size_t, int> done) {
  transfer(*this, false, size, true, pair_of_both(std::move(done)),
           detail::write_step{buffer, size});
}
void fd::write_once(const iovec* pieces, int len, std::size_t& count, int_event done) {
  detail::pieces_step step(pieces, len, false);
  const std::size_t size = step.size();
  transfer(*this, false, size, true, count_and_int(&count, std::move(done)), std::move(step));
}

void fd::sendmsg(const void* buffer, std::size_t size, int_event done) {
  sendmsg(buffer, size, -1, std::move(done));
}
void fd::sendmsg(const void* buffer, std::size_t size, int passed, int_event done) {
  transfer(*this, false, size, true, count_and_int(nullptr, std::move(done)),
           [buffer, size, passed](int number, std::size_t, bool blocks) {
             return detail::send_message(number, buffer, size, passed, blocks);
           });
}

}  // namespace tamer
