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
#include <cstring>
#include <utility>

#include "io/system_call.hh"

namespace heddle {
namespace {

constexpr int accepts_a_turn = 64;  // then other descriptors get their turn
constexpr int blocks_a_turn = 4;

// op.driver_state of a connect.
constexpr std::uint8_t connect_begun = 1;
constexpr std::uint8_t connect_refused = 2;  // for now: the kernel will not report a change

std::int64_t result_of(ssize_t result) noexcept { return result < 0 ? -errno : result; }

}  // namespace

op_queue& readiness_driver::queue_of(fd_state& state, const operation& op) noexcept {
  switch (op.code) {
    case op_code::poll:
      state.polled = true;
      return polls_[&state];
    case op_code::connect:
    case op_code::send:
    case op_code::send_msg:
    case op_code::write:
      return state.writers;
    default:
      return state.readers;
  }
}

inline bool readiness_driver::would_block(const operation& op, std::int64_t result) noexcept {
  static_assert(EAGAIN == EWOULDBLOCK);
  return (result == -EAGAIN || result == -EINPROGRESS) && op.driver_state != connect_refused;
}

inline std::int64_t readiness_driver::try_once(operation& op) noexcept {
  for (;;) {
    std::int64_t result;
    switch (op.code) {
      case op_code::receive:
        result =
            system_call::receive(op.fd, op.data, op.len, static_cast<int>(op.flags) | MSG_DONTWAIT);
        break;
      case op_code::send:
        result = system_call::send(op.fd, op.data, op.len,
                                   static_cast<int>(op.flags) | MSG_DONTWAIT | MSG_NOSIGNAL);
        break;
      case op_code::send_msg:
        result = system_call::send_msg(op.fd, static_cast<const msghdr*>(op.data),
                                       static_cast<int>(op.flags) | MSG_DONTWAIT | MSG_NOSIGNAL);
        break;
      case op_code::read:
        result = system_call::read(op.fd, op.data, op.len);
        break;
      case op_code::write:
        result = system_call::write(op.fd, op.data, op.len);
        break;
      default:
        result = try_other(op);
        break;
    }
    if (result != -EINTR) [[likely]]
      return result;
  }
}

/// Tries the rarer calls.
[[gnu::noinline]] std::int64_t readiness_driver::try_other(operation& op) noexcept {
  switch (op.code) {
    case op_code::accept:
    case op_code::accept_all:
      return accept_one(op.fd);
    case op_code::receive_msg:
      return result_of(::recvmsg(op.fd, static_cast<msghdr*>(op.data),
                                 static_cast<int>(op.flags) | MSG_DONTWAIT | MSG_CMSG_CLOEXEC));
    case op_code::connect: {
      if (op.driver_state == 0) {
        op.driver_state = connect_begun;
        const std::int64_t result =
            result_of(::connect(op.fd, static_cast<const ::sockaddr*>(op.data), op.len));
        // A Unix listener whose queue is full: nothing is in progress, and no report will come.
        if (result == -EAGAIN) op.driver_state = connect_refused;
        return result == -EINTR ? -EINPROGRESS : result;
      }
      pollfd p{op.fd, POLLOUT, 0};
      if (::poll(&p, 1, 0) == 0) return -EINPROGRESS;
      int error = 0;
      socklen_t len = sizeof error;
      return ::getsockopt(op.fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 ? -errno : -error;
    }
    case op_code::poll: {
      if (op.driver_state == poll_outlived) return -ECANCELED;
      pollfd p{op.fd, static_cast<short>(op.flags), 0};
      const int n = ::poll(&p, 1, 0);
      if (n > 0 && (p.revents & POLLNVAL) != 0) return -EBADF;
      return n < 0 ? -errno : n == 0 ? -EAGAIN : p.revents;
    }
    default:
      return -EOPNOTSUPP;
  }
}

void readiness_driver::learn(fd_state& state, const operation& op) noexcept {
  if (!state.watched() || (op.flags & (MSG_PEEK | MSG_OOB)) != 0) return;
  const bool in = op.code == op_code::read || op.code == op_code::receive;
  const bool out = op.code == op_code::write || op.code == op_code::send;
  if ((!in && !out) || kind_of(state, op.fd) != fd_kind::stream) return;
  if (out) {
    state.output = output_state::waiting;
  } else if (!state.ended) {
    state.move_to(input_state::waiting);
  }
}

int readiness_driver::await_report(fd_state& state, const op_queue& queue,
                                   const operation& op) noexcept {
  if (!state.watched()) {
    // A change between the try and this call is reported.
    const int error = watch(op.fd, state);
    if (error == 0) state.move_to(input_state::open);
    return error;
  }
  if (&queue == &state.readers) {
    state.move_to(input_state::waiting);
    return 0;
  }
  if (&queue == &state.writers) {
    if (op.code != op_code::connect) state.output = output_state::waiting;
    return 0;
  }
  // For a poll, the number may name another file since it was watched: other code closes its
  // descriptors without telling this driver.
  return state.origin != fd_origin::elsewhere ? 0 : watch_again(op.fd, state);
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
      return !send_to_pool(op, w, now);
    default:
      break;
  }
  if (op.fd < 0) {
    now.result = -EBADF;
    return true;
  }
  fd_state& state = state_of(op.fd);
  const fd_kind kind = op.code == op_code::read || op.code == op_code::write ? kind_of(state, op.fd)
                                                                             : fd_kind::unknown;
  if (kind == fd_kind::file || kind == fd_kind::uncached) {
    if (op.code == op_code::read && op.offset != at_cursor && kind == fd_kind::file) {
      // Bytes in the page cache need no thread.
      iovec piece{op.data, op.len};
      const ssize_t got = ::preadv2(op.fd, &piece, 1, static_cast<off_t>(op.offset), RWF_NOWAIT);
      if (got >= 0) {
        now.result = got;
        return true;
      }
    }
    return !send_to_pool(op, w, now);
  }
  op_queue& queue = queue_of(state, op);
  const bool waits = (&queue == &state.readers && state.read_waits()) ||
                     (&queue == &state.writers && state.write_waits());
  if (op.code == op_code::accept_all || op.code == op_code::receive_all) {
    hold(op, w);
    queue.push(op);
    if (!waits) kick(state);
    return false;
  }
  if ((queue.empty() && !waits) || op.code == op_code::poll) {
    now.result = try_once(op);
    if (!would_block(op, now.result)) {
      if (now.result > 0 && now.result < op.len) learn(state, op);
      return true;
    }
    if (const int error = await_report(state, queue, op); error != 0) {
      now.result = error;
      return true;
    }
  }
  hold(op, w);
  queue.push(op);
  return false;
}

void readiness_driver::finish(op_queue& queue, operation& op, worker& w,
                              std::int64_t result) noexcept {
  queue.remove(op);
  // Bytes that were moved count, even if an error came later; the next call meets that error again.
  if (op.whole && op.moved != 0)
    result = std::max<std::int64_t>(result, 0) + static_cast<std::int64_t>(op.moved);
  if (current_ == &op) current_ = nullptr;
  deliver(op, w, {result, false, false, 0});
}

template <bool Noted>
[[gnu::always_inline]] inline readiness_driver::attempt_result readiness_driver::run_multishot(
    operation& op, fd_state& state, worker& w) noexcept {
  const int fd = op.fd;
  const int rounds = op.code == op_code::accept_all ? accepts_a_turn : blocks_a_turn;
  for (int i = 0; i < rounds; ++i) {
    completion c{0, true, false, 0};
    bool drained = false;
    if (op.code == op_code::accept_all) {
      c.result = try_once(op);
      if (would_block(op, c.result)) return attempt_result::would_block;
      if (c.result == -ECONNABORTED || c.result == -EPROTO) continue;  // the peer gave up
    } else {
      const std::uint32_t block = take_block();
      if (block == no_block) {
        if (!state.starved) starved_.push_back(&state);
        state.starved = true;
        return attempt_result::later;
      }
      do {
        c.result = system_call::receive(fd, block_at(block), options_.block_bytes, MSG_DONTWAIT);
      } while (c.result == -EINTR);
      if (c.result <= 0) {
        return_block(block);
        if (would_block(op, c.result)) return attempt_result::would_block;
      } else {
        c.has_block = true;
        c.block = block;
        c.scarce = note_scarce(free_blocks(), options_.block_count);
        drained = c.result < options_.block_bytes && !state.ended &&
                  kind_of(state, fd) == fd_kind::stream;
      }
    }
    if (c.result < 0 || (op.code == op_code::receive_all && c.result == 0)) {
      if constexpr (Noted) ++delivered_;
      finish(state.readers, op, w, c.result);
      return attempt_result::done;
    }
    if constexpr (Noted) ++delivered_;
    operation* const outer = std::exchange(current_, &op);
    const bool wanted = deliver(op, w, c);
    const bool lives = std::exchange(current_, outer) == &op;
    if (!lives) return attempt_result::done;
    if (!wanted) {
      if constexpr (Noted) ++delivered_;
      finish(state.readers, op, w, -ECANCELED);
      return attempt_result::done;
    }
    if (drained) return state.watched() ? attempt_result::would_block : attempt_result::drained;
  }
  kick(state);
  return attempt_result::later;
}

template <bool Readers, bool Noted>
void readiness_driver::run_queue(fd_state& state, worker& w) noexcept {
  op_queue& queue = Readers ? state.readers : state.writers;
  while (!queue.empty() && !(Readers ? state.read_waits() : state.write_waits())) {
    operation& op = *queue.first;
    if (Readers && state.input == input_state::drained) [[unlikely]] {
      // Bytes that came since are reported when watching begins: no need to try before.
      state.move_to(input_state::unwatched);
    } else if (Readers && (op.code == op_code::accept_all || op.code == op_code::receive_all)) {
      const attempt_result answer = run_multishot<Noted>(op, state, w);
      if (answer == attempt_result::done) continue;
      if (answer == attempt_result::later) return;
      if (answer == attempt_result::drained) {
        // Watch from the next turn on, if it is open then: many are closed after one answer.
        state.move_to(input_state::drained);
        return kick(state);
      }
    } else if (const std::int64_t result = try_once(op); !would_block(op, result)) {
      if (result > 0) {
        const auto moved = std::min<std::int64_t>(result + line_bytes - 1, page_bytes);
        (Readers ? state.read_lines : state.write_lines) =
            static_cast<std::uint8_t>(moved / line_bytes);
      }
      if (result > 0 && result < op.len) {
        learn(state, op);
        if (op.whole) {  // the rest is still wanted
          op.data = static_cast<std::byte*>(op.data) + result;
          op.len -= static_cast<std::uint32_t>(result);
          op.moved += static_cast<std::size_t>(result);
          continue;
        }
      }
      if constexpr (Noted) ++delivered_;
      finish(queue, op, w, result);
      continue;
    }
    const int error = await_report(state, queue, op);
    if (error == 0) return;
    if constexpr (Noted) ++delivered_;
    finish(queue, op, w, error);
  }
}
template void readiness_driver::run_queue<true, false>(fd_state&, worker&) noexcept;
template void readiness_driver::run_queue<false, false>(fd_state&, worker&) noexcept;

bool readiness_driver::run_polls(fd_state& state, worker& w) noexcept {
  bool any = false;
  op_queue& polls = polls_[&state];
  // Starts again after each poll that ended: its completion may have ended others.
  for (operation* op = polls.first; op != nullptr;) {
    const std::int64_t result = try_once(*op);
    const bool ready = !would_block(*op, result);
    if (ready) {
      any = true;
      finish(polls, *op, w, result);
    }
    op = ready ? polls.first : op->driver_next;
  }
  return any;
}

void readiness_driver::kick(fd_state& state) noexcept {
  if (!state.kicked) kicked_.push_back(&state);
  state.kicked = true;
}

void readiness_driver::run_kicked(worker& w) noexcept {
  kicking_.swap(kicked_);
  for (fd_state* const state : kicking_) {
    if (!state->kicked) continue;  // closed since
    state->kicked = false;
    if (state->polled) [[unlikely]]
      delivered_ += run_polls(*state, w) ? 1 : 0;
    run_queue<true, true>(*state, w);
    run_queue<false, true>(*state, w);
  }
  kicking_.clear();
}

/// While there are blocks, tries the longest waiting reader first; a cancelled reader takes none.
void readiness_driver::feed_starved(worker& w) noexcept {
  std::size_t fed = 0;
  while (fed < starved_.size() && has_block()) {
    fd_state& state = *starved_[fed++];
    const bool starved = state.starved;  // false if the descriptor was closed
    state.starved = false;
    if (starved) run_queue<true, true>(state, w);
  }
  starved_.erase(starved_.begin(), starved_.begin() + static_cast<std::ptrdiff_t>(fed));
}

void readiness_driver::turn(worker& w, time_point until) noexcept {
  if (collect_from_pool(w)) [[unlikely]]
    ++delivered_;
  collect_blocks(!starved_.empty());
  if (!starved_.empty()) feed_starved(w);
  if (!kicked_.empty()) run_kicked(w);
  // A completion that was delivered above may have armed a timer that `until` does not know of.
  if (!kicked_.empty() || !w.idle() || delivered_ != 0) {
    until = time_point::min();
    delivered_ = 0;
  }
  if (until == time_point::min() && pending_ == 0) return;
  wait_reports(w, until);
  collect_from_pool(w);
}

void readiness_driver::cancel(operation& op, worker& w) noexcept {
  if (!op.held || op.cancel_asked) return;
  op.cancel_asked = true;
  if (in_pool(op)) {
    cancel_in_pool(op, w);
    return;
  }
  fd_state& state = states_[op.fd];
  finish(queue_of(state, op), op, w, -ECANCELED);
  // The next operation in the queue was not tried yet.
  if ((!state.readers.empty() && !state.read_waits()) ||
      (!state.writers.empty() && !state.write_waits()))
    kick(state);
}

}  // namespace heddle
