// SPDX-License-Identifier: MIT
// The epoll and poll drivers' records of descriptors, and the calls on them that never block.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "io/readiness.hh"
#include "io/system_call.hh"

namespace heddle {

/// Resets notes from before another worker closed the number. Of the operations only polls can
/// still be pending (other code waits with them for its own descriptors): the next turn ends them.
void readiness_driver::forget_old(int fd, fd_state& state) noexcept {
  const std::uint32_t epoch = epochs_->of(fd);
  if (state.epoch == epoch) return;
  if (state.watched()) unwatch(fd, true);
  if (state.starved) std::erase(starved_, &state);
  const bool kicked = state.kicked;  // a listed record stays in kicked_; run_kicked() finds no work
  const bool polled = state.polled;
  state = fd_state();
  state.kicked = kicked;
  state.epoch = epoch;
  if (!polled) return;
  state.polled = true;
  for (operation* op = polls_[&state].first; op != nullptr; op = op->driver_next)
    op->driver_state = poll_outlived;
  kick(state);
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

/// Begins the record of a number that the kernel has just given: earlier notes are about another
/// file.
readiness_driver::fd_state& readiness_driver::begin(int fd, fd_kind kind) noexcept {
  // Other code may have closed the number without telling the drivers of this runtime.
  if (epochs_ != nullptr) [[unlikely]]
    epochs_->renew(fd);
  fd_state& state = state_of(fd);
  if (state.watched()) [[unlikely]]
    unwatch(fd, true);
  const std::uint32_t epoch = state.epoch;
  const bool kicked = state.kicked;  // a listed record stays in kicked_; run_kicked() finds no work
  state = fd_state();
  state.epoch = epoch;
  state.kicked = kicked;
  state.kind = kind;
  state.origin = fd_origin::made_here;
  return state;
}

std::int64_t readiness_driver::accept_one(int listener) noexcept {
  sockaddr_storage from;
  socklen_t len = sizeof from;
  const auto fd = static_cast<int>(system_call::accept(
      listener, reinterpret_cast<::sockaddr*>(&from), &len, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (fd < 0) return fd;
  const fd_kind kind = kind_of(state_of(listener), listener);
  fd_state& state = begin(fd, kind);
  known_peer& peer = known_peers_[static_cast<std::size_t>(fd) % known_peers_.size()];
  state.origin = fd_origin::accepted;
  if (len <= sizeof peer.address) {
    state.origin = fd_origin::peer_known;
    peer.fd = fd;
    peer.len = len;
    std::memcpy(peer.address, &from, len);
  }
  return fd;
}

int readiness_driver::peer_name(int fd, ::sockaddr* out, unsigned* len) noexcept {
  const known_peer& peer = known_peers_[static_cast<std::size_t>(fd) % known_peers_.size()];
  if (peer.fd != fd || state_of(fd).origin != fd_origin::peer_known || *len < peer.len)
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

std::int64_t readiness_driver::send_now(int fd, const ::iovec* pieces, std::size_t count) noexcept {
  fd_state& state = state_of(fd);
  if (!state.writers.empty() || state.write_waits()) return 0;
  constexpr int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
  long sent;
  if (count == 1) {
    sent = system_call::send(fd, pieces->iov_base, pieces->iov_len, flags);
  } else {
    msghdr all{};
    all.msg_iov = const_cast<::iovec*>(pieces);
    all.msg_iovlen = count;
    sent = system_call::send_msg(fd, &all, flags);
  }
  if (sent < 0) return sent == -EAGAIN || sent == -EINTR ? 0 : sent;
  const auto bytes = static_cast<std::size_t>(sent);
  std::size_t len = 0;
  for (std::size_t i = 0; i != count; ++i) len += pieces[i].iov_len;
  if (bytes < len && state.watched() && kind_of(state, fd) == fd_kind::stream)
    state.output = output_state::waiting;
  return sent;
}

std::int64_t readiness_driver::send_file_now(int fd, const ::iovec& head, int file,
                                             std::uint64_t at, std::size_t count,
                                             bool never_waits) noexcept {
  const fd_state& state = state_of(fd);
  if (!state.writers.empty()) return -EAGAIN;
  return kernel_driver::send_file_now(fd, head, file, at, count,
                                      never_waits || state.origin != fd_origin::elsewhere);
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
    if (state->watched()) unwatch(fd, state->origin < fd_origin::accepted);
    if (state->starved) std::erase(starved_, state);
    *state = fd_state();
  }
  if (epochs_ != nullptr) epochs_->renew(fd);
  close_number(fd, w);
}

}  // namespace heddle
