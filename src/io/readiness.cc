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

#include "io/bare_call.hh"

namespace heddle {
namespace {

constexpr int accepts_a_turn = 64;  // then other descriptors get their turn
constexpr int blocks_a_turn = 4;

// op.driver_state of a connect.
constexpr std::uint8_t connect_begun = 1;
constexpr std::uint8_t connect_refused = 2;  // for now, and nobody will report a change

std::int64_t outcome(ssize_t result) noexcept { return result < 0 ? -errno : result; }

}  // namespace

void readiness_driver::share_with(driver& first, std::uint32_t worker) {
  kernel_driver::share_with(first, worker);
  auto& other = static_cast<readiness_driver&>(first);
  if (other.epochs_ == nullptr) other.epochs_ = std::make_shared<fd_epochs>();
  epochs_ = other.epochs_;
}

/// What was noted before another worker closed the number: nothing waits there any more.
void readiness_driver::forget_old(int fd, fd_state& state) noexcept {
  const std::uint32_t epoch = epochs_->of(fd);
  if (state.epoch == epoch) return;
  if (state.watched) unwatch(fd, true);
  if (state.starved) std::erase(starved_, &state);
  const bool kicked = state.kicked;  // it stays listed, and then finds nothing to do
  state = fd_state();
  state.kicked = kicked;
  state.epoch = epoch;
}

readiness_driver::fd_kind readiness_driver::ask_kind(fd_state& state, int fd) noexcept {
  struct stat s;
  if (::fstat(fd, &s) != 0) return fd_kind::unknown;  // not open: the call itself will say so
  state.kind = fd_kind::packets;
  if (S_ISREG(s.st_mode) || S_ISDIR(s.st_mode) || S_ISBLK(s.st_mode))
    state.kind = (::fcntl(fd, F_GETFL) & O_DIRECT) != 0 ? fd_kind::uncached : fd_kind::file;
  if (S_ISFIFO(s.st_mode)) state.kind = fd_kind::stream;
  const auto asked = [fd](int option) {
    int answer = 0;
    socklen_t len = sizeof answer;
    return ::getsockopt(fd, SOL_SOCKET, option, &answer, &len) == 0 ? answer : -1;
  };
  if (S_ISSOCK(s.st_mode) && asked(SO_TYPE) == SOCK_STREAM && asked(SO_DOMAIN) != AF_UNIX)
    state.kind = fd_kind::stream;
  return state.kind;
}

/// A number that the kernel has just given: whatever was noted of it is about another file.
readiness_driver::fd_state& readiness_driver::begin(int fd, fd_kind kind) noexcept {
  fd_state& state = state_of(fd);
  const std::uint32_t epoch = state.epoch;
  const bool kicked = state.kicked;  // it stays listed, and then finds nothing to do
  state = fd_state();
  state.epoch = epoch;
  state.kicked = kicked;
  state.kind = kind;
  state.made_here = true;
  return state;
}

std::int64_t readiness_driver::accept_one(int listener) noexcept {
  sockaddr_storage from;
  socklen_t len = sizeof from;
  const auto fd = static_cast<int>(bare::accept(listener, reinterpret_cast<::sockaddr*>(&from),
                                                &len, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (fd < 0) return fd;
  const fd_kind kind = kind_of(state_of(listener), listener);
  fd_state& state = begin(fd, kind);
  state.accepted = true;
  met_peer& peer = met_[static_cast<std::size_t>(fd) % met_.size()];
  state.met = len <= sizeof peer.address;
  if (state.met) {
    peer.fd = fd;
    peer.len = len;
    std::memcpy(peer.address, &from, len);
  }
  return fd;
}

int readiness_driver::peer_name(int fd, ::sockaddr* out, unsigned* len) noexcept {
  const met_peer& peer = met_[static_cast<std::size_t>(fd) % met_.size()];
  if (peer.fd != fd || !state_of(fd).met || *len < peer.len)
    return kernel_driver::peer_name(fd, out, len);
  std::memcpy(out, peer.address, peer.len);
  *len = peer.len;
  return 0;
}

int readiness_driver::socket(int domain, int type, int protocol) noexcept {
  const int fd = kernel_driver::socket(domain, type, protocol);
  const bool stream = (type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) == SOCK_STREAM && domain != AF_UNIX;
  if (fd >= 0) begin(fd, stream ? fd_kind::stream : fd_kind::packets);
  return fd;
}

int readiness_driver::socket_pair(int (&ends)[2]) noexcept {
  const int error = kernel_driver::socket_pair(ends);
  if (error >= 0)
    for (const int fd : ends) begin(fd, fd_kind::packets);
  return error;
}

int readiness_driver::pipe(int (&ends)[2]) noexcept {
  const int error = kernel_driver::pipe(ends);
  if (error >= 0)
    for (const int fd : ends) begin(fd, fd_kind::stream);
  return error;
}

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
        result = bare::receive(op.fd, op.data, op.len, static_cast<int>(op.flags) | MSG_DONTWAIT);
        break;
      case op_code::send:
        result = bare::send(op.fd, op.data, op.len,
                            static_cast<int>(op.flags) | MSG_DONTWAIT | MSG_NOSIGNAL);
        break;
      case op_code::send_msg:
        result = bare::send_msg(op.fd, static_cast<const msghdr*>(op.data),
                                static_cast<int>(op.flags) | MSG_DONTWAIT | MSG_NOSIGNAL);
        break;
      case op_code::read:
        result = bare::read(op.fd, op.data, op.len);
        break;
      case op_code::write:
        result = bare::write(op.fd, op.data, op.len);
        break;
      default:
        result = try_other(op);
        break;
    }
    if (result != -EINTR) [[likely]]
      return result;
  }
}

/// The calls that are not made all the time.
[[gnu::noinline]] std::int64_t readiness_driver::try_other(operation& op) noexcept {
  switch (op.code) {
    case op_code::accept:
    case op_code::accept_all:
      return accept_one(op.fd);
    case op_code::receive_msg:
      return outcome(::recvmsg(op.fd, static_cast<msghdr*>(op.data),
                               static_cast<int>(op.flags) | MSG_DONTWAIT | MSG_CMSG_CLOEXEC));
    case op_code::connect: {
      if (op.driver_state == 0) {
        op.driver_state = connect_begun;
        const std::int64_t result =
            outcome(::connect(op.fd, static_cast<const ::sockaddr*>(op.data), op.len));
        // A Unix listener whose queue is full: nothing is in progress, and nobody will report.
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
  if (!state.watched || (op.flags & (MSG_PEEK | MSG_OOB)) != 0) return;
  const bool in = op.code == op_code::read || op.code == op_code::receive;
  const bool out = op.code == op_code::write || op.code == op_code::send;
  if ((!in && !out) || kind_of(state, op.fd) != fd_kind::stream) return;
  if (out) {
    state.write_waits = true;
  } else if (!state.ended) {
    state.read_waits = true;
  }
}

int readiness_driver::await_report(fd_state& state, const operation& op) noexcept {
  if (!state.watched) {
    // What comes between the try and this call is reported.
    const int error = watch(op.fd, state);
    state.watched = error == 0;
    return error;
  }
  op_queue& queue = queue_of(state, op);
  if (&queue == &state.readers) state.read_waits = true;
  if (&queue == &state.writers && op.code != op_code::connect) state.write_waits = true;
  return 0;
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
      // What the page cache holds needs no thread.
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
  const bool waits = (&queue == &state.readers && state.read_waits) ||
                     (&queue == &state.writers && state.write_waits);
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
    if (const int error = await_report(state, op); error != 0) {
      now.result = error;
      return true;
    }
  }
  hold(op, w);
  queue.push(op);
  return false;
}

std::size_t readiness_driver::send_now(int fd, const ::iovec* pieces, std::size_t count) noexcept {
  fd_state& state = state_of(fd);
  if (!state.writers.empty() || state.write_waits) return 0;
  constexpr int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
  long sent;
  if (count == 1) {
    sent = bare::send(fd, pieces->iov_base, pieces->iov_len, flags);
  } else {
    msghdr all{};
    all.msg_iov = const_cast<::iovec*>(pieces);
    all.msg_iovlen = count;
    sent = bare::send_msg(fd, &all, flags);
  }
  if (sent <= 0) return 0;  // who then waits to send is told why
  const auto bytes = static_cast<std::size_t>(sent);
  std::size_t len = 0;
  for (std::size_t i = 0; i != count; ++i) len += pieces[i].iov_len;
  if (bytes < len && state.watched && kind_of(state, fd) == fd_kind::stream)
    state.write_waits = true;
  return bytes;
}

std::int64_t readiness_driver::send_file_now(int fd, const ::iovec& head, int file,
                                             std::uint64_t at, std::size_t count) noexcept {
  const fd_state& state = state_of(fd);
  if (!state.writers.empty()) return -EAGAIN;
  return state.made_here ? send_from_file(fd, head, file, at, count)
                         : kernel_driver::send_file_now(fd, head, file, at, count);
}

void readiness_driver::finish(op_queue& queue, operation& op, worker& w,
                              std::int64_t result) noexcept {
  queue.remove(op);
  // What was moved counts, whatever came then; the next call meets that again.
  if (op.whole && op.moved != 0)
    result = std::max<std::int64_t>(result, 0) + static_cast<std::int64_t>(op.moved);
  if (current_ == &op) current_ = nullptr;
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
      c.result = try_once(op);
      if (would_block(op, c.result)) return attempt_result::would_block;
      if (c.result == -ECONNABORTED || c.result == -EPROTO) continue;  // gone before we came
    } else {
      const std::uint32_t block = take_block();
      if (block == no_block) {
        if (!state.starved) starved_.push_back(&state);
        state.starved = true;
        return attempt_result::later;
      }
      do {
        c.result = bare::receive(fd, block_at(block), options_.block_bytes, MSG_DONTWAIT);
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
      finish(state.readers, op, w, c.result);
      return attempt_result::done;
    }
    operation* const outer = std::exchange(current_, &op);
    const bool wanted = deliver(op, w, c);
    const bool lives = std::exchange(current_, outer) == &op;
    if (!lives) return attempt_result::done;
    if (!wanted) {
      finish(state.readers, op, w, -ECANCELED);
      return attempt_result::done;
    }
    if (drained) return state.watched ? attempt_result::would_block : attempt_result::drained;
  }
  kick(state);
  return attempt_result::later;
}

template <bool Readers>
void readiness_driver::run_queue(fd_state& state, worker& w) noexcept {
  op_queue& queue = Readers ? state.readers : state.writers;
  while (!queue.empty() && !(Readers ? state.read_waits : state.write_waits)) {
    operation& op = *queue.first;
    if (Readers && state.drained && !state.watched) [[unlikely]] {
      // What came since is reported when watching begins: no need to try before.
      state.drained = false;
    } else if (Readers && (op.code == op_code::accept_all || op.code == op_code::receive_all)) {
      const attempt_result answer = run_multishot(op, state, w);
      if (answer == attempt_result::done) continue;
      if (answer == attempt_result::later) return;
      if (answer == attempt_result::drained) {
        // Watched from the next turn on, if it is still there: many are closed after one answer.
        state.drained = true;
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
      finish(queue, op, w, result);
      continue;
    }
    const int error = await_report(state, op);
    if (error == 0) return;
    finish(queue, op, w, error);
  }
}
template void readiness_driver::run_queue<true>(fd_state&, worker&) noexcept;
template void readiness_driver::run_queue<false>(fd_state&, worker&) noexcept;

void readiness_driver::run_polls(fd_state& state, worker& w) noexcept {
  op_queue& polls = polls_[&state];
  // From the beginning after each one that ended: its completion may have ended others.
  for (operation* op = polls.first; op != nullptr;) {
    const std::int64_t result = try_once(*op);
    const bool ready = !would_block(*op, result);
    if (ready) finish(polls, *op, w, result);
    op = ready ? polls.first : op->driver_next;
  }
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
    run_queue<true>(*state, w);
    run_queue<false>(*state, w);
  }
  kicking_.clear();
}

/// As long as there are blocks, whoever waited longest is tried; one that gave up takes none.
void readiness_driver::feed_starved(worker& w) noexcept {
  std::size_t fed = 0;
  while (fed < starved_.size() && has_block()) {
    fd_state& state = *starved_[fed++];
    const bool starved = state.starved;  // still: it may have been closed
    state.starved = false;
    if (starved) run_queue<true>(state, w);
  }
  starved_.erase(starved_.begin(), starved_.begin() + static_cast<std::ptrdiff_t>(fed));
}

void readiness_driver::turn(worker& w, time_point until) noexcept {
  collect_from_pool(w);
  collect_blocks(!starved_.empty());
  if (!starved_.empty()) feed_starved(w);
  if (!kicked_.empty()) run_kicked(w);
  if (!kicked_.empty() || !w.idle()) until = time_point::min();
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
  // The next in the line was never tried.
  if ((!state.readers.empty() && !state.read_waits) ||
      (!state.writers.empty() && !state.write_waits))
    kick(state);
}

void readiness_driver::close(int fd, worker& w) noexcept {
  if (fd < 0) return;
  if (fd_state* state = states_.find(fd)) {
    const auto end_all = [&](op_queue& queue) {
      while (!queue.empty()) finish(queue, *queue.first, w, -ECANCELED);
    };
    end_all(state->readers);
    end_all(state->writers);
    if (state->polled) end_all(polls_[state]);
    if (state->watched) unwatch(fd, !state->accepted);
    if (state->starved) std::erase(starved_, state);
    *state = fd_state();
  }
  if (epochs_ != nullptr) epochs_->closing(fd);
  close_number(fd, w);
}

}  // namespace heddle
