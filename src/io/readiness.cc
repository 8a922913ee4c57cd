// SPDX-License-Identifier: MIT
// Try, queue, try again: the operations of the epoll and poll drivers.
#include "io/readiness.hh"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace heddle {
namespace {

constexpr int accepts_a_turn = 64;  // then other descriptors get their turn
constexpr int blocks_a_turn = 4;

bool would_block(std::int64_t result) noexcept {
  return result == -EAGAIN || result == -EWOULDBLOCK || result == -EINPROGRESS;
}

std::int64_t outcome(ssize_t result) noexcept { return result < 0 ? -errno : result; }

}  // namespace

void readiness_driver::op_queue::push(operation& op) noexcept {
  op.driver_next = nullptr;
  op.driver_prev = last;
  (last != nullptr ? last->driver_next : first) = &op;
  last = &op;
}

void readiness_driver::op_queue::remove(operation& op) noexcept {
  (op.driver_prev != nullptr ? op.driver_prev->driver_next : first) = op.driver_next;
  (op.driver_next != nullptr ? op.driver_next->driver_prev : last) = op.driver_prev;
}

readiness_driver::fd_state& readiness_driver::state_of(int fd) {
  const auto index = static_cast<std::size_t>(fd);
  if (index >= states_.size()) states_.resize(std::max(index + 1, states_.size() * 2));
  return states_[index];
}

bool readiness_driver::is_file(int fd) noexcept {
  fd_state& state = state_of(fd);
  if (state.kind == fd_kind::unknown) {
    struct stat s;
    const bool file =
        ::fstat(fd, &s) == 0 && (S_ISREG(s.st_mode) || S_ISDIR(s.st_mode) || S_ISBLK(s.st_mode));
    state.kind = file ? fd_kind::file : fd_kind::stream;
  }
  return state.kind == fd_kind::file;
}

bool readiness_driver::reads(const operation& op) noexcept {
  switch (op.code) {
    case op_code::connect:
    case op_code::send:
    case op_code::send_msg:
    case op_code::write:
      return false;
    case op_code::poll:
      return (op.flags & (POLLIN | POLLPRI | POLLRDHUP)) != 0;
    default:
      return true;
  }
}

bool readiness_driver::try_once(operation& op, std::int64_t& result) noexcept {
  do {
    switch (op.code) {
      case op_code::accept:
      case op_code::accept_all:
        result = outcome(::accept4(op.fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        break;
      case op_code::receive:
        result = outcome(::recv(op.fd, op.data, op.len, static_cast<int>(op.flags) | MSG_DONTWAIT));
        break;
      case op_code::send:
        result = outcome(::send(op.fd, op.data, op.len,
                                static_cast<int>(op.flags) | MSG_DONTWAIT | MSG_NOSIGNAL));
        break;
      case op_code::receive_msg:
        result = outcome(::recvmsg(op.fd, static_cast<msghdr*>(op.data),
                                   static_cast<int>(op.flags) | MSG_DONTWAIT | MSG_CMSG_CLOEXEC));
        break;
      case op_code::send_msg:
        result = outcome(::sendmsg(op.fd, static_cast<const msghdr*>(op.data),
                                   static_cast<int>(op.flags) | MSG_DONTWAIT | MSG_NOSIGNAL));
        break;
      case op_code::read:
        result = outcome(::read(op.fd, op.data, op.len));
        break;
      case op_code::write:
        result = outcome(::write(op.fd, op.data, op.len));
        break;
      case op_code::connect:
        if (op.driver_state == 0) {
          op.driver_state = 1;
          result = outcome(::connect(op.fd, static_cast<const ::sockaddr*>(op.data), op.len));
          if (result == -EINTR) result = -EINPROGRESS;
        } else {
          pollfd p{op.fd, POLLOUT, 0};
          if (::poll(&p, 1, 0) == 0) {
            result = -EINPROGRESS;
            break;
          }
          int error = 0;
          socklen_t len = sizeof error;
          result = ::getsockopt(op.fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 ? -errno : -error;
        }
        break;
      case op_code::poll: {
        pollfd p{op.fd, static_cast<short>(op.flags), 0};
        const int n = ::poll(&p, 1, 0);
        result = n < 0 ? -errno : n == 0 ? -EAGAIN : p.revents;
        if (n > 0 && (p.revents & POLLNVAL) != 0) result = -EBADF;
        break;
      }
      default:
        result = -EOPNOTSUPP;
        break;
    }
  } while (result == -EINTR);
  return !would_block(result);
}

bool readiness_driver::submit(operation& op, worker& w, completion& now) noexcept {
  op.driver_state = 0;
  now = {};
  switch (op.code) {
    case op_code::open:
    case op_code::stat:
    case op_code::sync:
    case op_code::list:
    case op_code::remove:
    case op_code::rename:
    case op_code::make_directory:
    case op_code::resolve:
    case op_code::call:
      if (!send_to_pool(op, w, now)) return true;
      hold(op);
      return false;
    default:
      break;
  }
  if (op.fd < 0) {
    now.result = -EBADF;
    return true;
  }
  if ((op.code == op_code::read || op.code == op_code::write) && is_file(op.fd)) {
    if (op.code == op_code::read && op.offset != at_cursor) {
      // What the page cache holds needs no thread.
      iovec piece{op.data, op.len};
      const ssize_t got = ::preadv2(op.fd, &piece, 1, static_cast<off_t>(op.offset), RWF_NOWAIT);
      if (got >= 0) {
        now.result = got;
        return true;
      }
    }
    if (!send_to_pool(op, w, now)) return true;
    hold(op);
    return false;
  }
  fd_state& state = state_of(op.fd);
  const bool reading = reads(op);
  op_queue& queue = reading ? state.readers : state.writers;
  const bool waits = reading ? state.read_waits : state.write_waits;
  if (op.code == op_code::accept_all || op.code == op_code::receive_all) {
    hold(op);
    queue.push(op);
    ++queued_;
    if (!waits) kick(op.fd);
    return false;
  }
  if (queue.empty() && !waits) {
    if (try_once(op, now.result)) {
      // A short transfer on a watched descriptor: it is not ready any more.
      if (state.watched && now.result > 0 && now.result < op.len) {
        if (op.code == op_code::receive && !state.ended) state.read_waits = true;
        if (op.code == op_code::send) state.write_waits = true;
      }
      return true;
    }
    if (!state.watched) {
      state.watched = watch(op.fd);
    } else if (op.code != op_code::poll && op.code != op_code::connect) {
      (reading ? state.read_waits : state.write_waits) = true;
    }
  }
  hold(op);
  queue.push(op);
  ++queued_;
  return false;
}

void readiness_driver::finish(op_queue& queue, operation& op, worker& w,
                              std::int64_t result) noexcept {
  queue.remove(op);
  --queued_;
  deliver(op, w, {result, false, false, 0});
}

readiness_driver::attempt_result readiness_driver::run_multishot(operation& op, fd_state& state,
                                                                 worker& w) noexcept {
  const int fd = op.fd;
  const int rounds = op.code == op_code::accept_all ? accepts_a_turn : blocks_a_turn;
  for (int i = 0; i < rounds; ++i) {
    completion c{0, true, false, 0};
    bool drained = false;
    if (op.code == op_code::accept_all) {
      if (!try_once(op, c.result)) return attempt_result::would_block;
      if (c.result == -ECONNABORTED || c.result == -EPROTO) continue;  // gone before we came
    } else {
      const std::uint32_t block = take_block();
      if (block == no_block) {
        starved_.push_back(fd);
        return attempt_result::done;  // return_block() goes on
      }
      do {
        c.result = outcome(::recv(fd, block_at(block), options_.block_bytes, MSG_DONTWAIT));
      } while (c.result == -EINTR);
      if (c.result <= 0) {
        free_blocks_.push_back(block);
        if (would_block(c.result)) return attempt_result::would_block;
      } else {
        c.has_block = true;
        c.block = block;
        drained = c.result < options_.block_bytes && !state.ended;
      }
    }
    if (c.result < 0 || (op.code == op_code::receive_all && c.result == 0)) {
      finish(state.readers, op, w, c.result);
      return attempt_result::done;
    }
    if (!deliver(op, w, c)) {
      finish(states_[static_cast<std::size_t>(fd)].readers, op, w, -ECANCELED);
      return attempt_result::done;
    }
    if (drained) return attempt_result::would_block;
  }
  return attempt_result::again_later;
}

void readiness_driver::run_queue(int fd, bool readers, worker& w) noexcept {
  for (;;) {
    fd_state& state = states_[static_cast<std::size_t>(fd)];
    op_queue& queue = readers ? state.readers : state.writers;
    if (queue.empty()) return;
    operation& op = *queue.first;
    bool blocked;
    if (op.code == op_code::accept_all || op.code == op_code::receive_all) {
      switch (run_multishot(op, state, w)) {
        case attempt_result::done:
          if (queue.first == &op) return;  // waits for a block
          continue;
        case attempt_result::again_later:
          kick(fd);
          return;
        case attempt_result::would_block:
          break;
      }
      blocked = true;
    } else {
      std::int64_t result;
      blocked = !try_once(op, result);
      if (!blocked) {
        if (state.watched && result > 0 && result < op.len) {
          if (op.code == op_code::receive && !state.ended) state.read_waits = true;
          if (op.code == op_code::send) state.write_waits = true;
        }
        finish(queue, op, w, result);
      }
    }
    fd_state& after = states_[static_cast<std::size_t>(fd)];
    if (blocked) {
      if (!after.watched) {
        after.watched = watch(fd);  // and what came meanwhile is reported
      } else if (op.code != op_code::poll && op.code != op_code::connect) {
        (readers ? after.read_waits : after.write_waits) = true;
      }
      return;
    }
    if (readers ? after.read_waits : after.write_waits) return;
  }
}

void readiness_driver::ready(int fd, bool readable, bool writable, bool ended, worker& w) noexcept {
  fd_state& state = states_[static_cast<std::size_t>(fd)];
  if (ended) state.ended = true;
  if (readable) {
    state.read_waits = false;
    run_queue(fd, true, w);
  }
  if (writable) {
    states_[static_cast<std::size_t>(fd)].write_waits = false;
    run_queue(fd, false, w);
  }
}

void readiness_driver::kick(int fd) noexcept {
  fd_state& state = states_[static_cast<std::size_t>(fd)];
  if (state.kicked) return;
  state.kicked = true;
  kicked_.push_back(fd);
}

void readiness_driver::run_kicked(worker& w) noexcept {
  kicking_.swap(kicked_);
  for (const int fd : kicking_) {
    fd_state& state = states_[static_cast<std::size_t>(fd)];
    if (!state.kicked) continue;  // closed since
    state.kicked = false;
    run_queue(fd, true, w);
  }
  kicking_.clear();
}

void readiness_driver::turn(worker& w, time_point until) noexcept {
  collect_from_pool(w);
  if (!kicked_.empty()) run_kicked(w);
  if (!kicked_.empty() || !w.ready.empty()) until = time_point::min();
  if (until == time_point::min() && pending_ == 0) return;
  wait_reports(w, until);
  collect_from_pool(w);
}

void readiness_driver::cancel(operation& op, worker& w) noexcept {
  if (!op.pending || op.cancel_asked) return;
  op.cancel_asked = true;
  if (in_pool(op)) {
    cancel_in_pool(op, w);
    return;
  }
  fd_state& state = states_[static_cast<std::size_t>(op.fd)];
  const bool reading = reads(op);
  const int fd = op.fd;
  finish(reading ? state.readers : state.writers, op, w, -ECANCELED);
  // The next in the queue was never tried.
  if (reading && !state.readers.empty() && !state.read_waits) kick(fd);
}

void readiness_driver::close(int fd, worker& w) noexcept {
  if (fd < 0) return;
  if (static_cast<std::size_t>(fd) < states_.size()) {
    for (const bool readers : {true, false})
      for (;;) {
        fd_state& state = states_[static_cast<std::size_t>(fd)];
        op_queue& queue = readers ? state.readers : state.writers;
        if (queue.empty()) break;
        finish(queue, *queue.first, w, -ECANCELED);
      }
    if (states_[static_cast<std::size_t>(fd)].watched) unwatch(fd);
    states_[static_cast<std::size_t>(fd)] = {};
    std::erase(starved_, fd);
  }
  ::close(fd);
}

void readiness_driver::return_block(std::uint32_t block) noexcept {
  kernel_driver::return_block(block);
  if (starved_.empty()) [[likely]]
    return;
  kick(starved_.front());
  starved_.erase(starved_.begin());
}

}  // namespace heddle
