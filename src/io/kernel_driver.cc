// SPDX-License-Identifier: MIT
// The calls that all kernel drivers make alike.
#include "io/kernel_driver.hh"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "heddle/base/detail/standard_streams.hh"
#include "io/process_signals.hh"
#include "io/system_call.hh"

namespace heddle {
namespace {

int outcome(int result) noexcept { return result < 0 ? -errno : result; }

nanoseconds read_time(clockid_t which) noexcept {
  timespec t;
  ::clock_gettime(which, &t);
  return std::chrono::seconds(t.tv_sec) + nanoseconds(t.tv_nsec);
}

}  // namespace

namespace {

std::shared_ptr<driver_common> common_of(driver_place& place) {
  if (place.common == nullptr) {
    hold_standard_streams();
    place.common = std::make_shared<driver_common>(place);
  }
  return place.common;
}

}  // namespace

kernel_driver::kernel_driver(driver_place& place)
    : options_(place.options), common_(common_of(place)), port_(place.worker) {
  wake_fd_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (wake_fd_ < 0) throw failure({errno, std::generic_category()}, "cannot make an eventfd");
  const std::size_t bytes = std::size_t{options_.block_bytes} * options_.block_count;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    const int error = errno;
    ::close(wake_fd_);
    throw failure({error, std::generic_category()}, "cannot reserve receive blocks");
  }
  static_cast<void>(::madvise(memory, bytes, MADV_NOHUGEPAGE));  // commit used blocks only
  blocks_ = static_cast<std::byte*>(memory);
  pool_.open_port(port_, wake_fd_);
  free_blocks_.reserve(options_.block_count);  // so that returning one never allocates
  if (place.workers > 1) afar_.reserve(std::max<std::size_t>(options_.block_count, 32768));
}

void kernel_driver::return_from_afar(std::uint32_t block) noexcept {
  {
    const std::lock_guard hold(afar_lock_);
    afar_.push_back(block);
    blocks_afar_.store(static_cast<std::uint32_t>(afar_.size()), std::memory_order_seq_cst);
  }
  if (wants_blocks_.exchange(false, std::memory_order_seq_cst)) wake();
}

void kernel_driver::take_back_from_afar() noexcept {
  const std::lock_guard hold(afar_lock_);
  for (const std::uint32_t block : afar_) take_back(block);
  afar_.clear();
  blocks_afar_.store(0, std::memory_order_relaxed);
}

kernel_driver::~kernel_driver() {
  pool_.end();
  for (const int fd : closing_) ::close(fd);
  ::munmap(blocks_, std::size_t{options_.block_bytes} * options_.block_count);
  detail::block_again();
  ::close(wake_fd_);
}

void kernel_driver::wake() noexcept {
  const std::uint64_t one = 1;  // signal handlers call this: not ::write(), which fibers interpose
  static_cast<void>(system_call::write(wake_fd_, &one, sizeof one));
}

void kernel_driver::drain_wake() noexcept {
  std::uint64_t count;
  static_cast<void>(!::read(wake_fd_, &count, sizeof count));
  wake_taken_ = lent_;
}

void kernel_driver::lend(bool out) noexcept {
  lent_ = out;
  if (!out && std::exchange(wake_taken_, false)) wake();
}

time_point kernel_driver::now() noexcept { return time_point(read_time(CLOCK_MONOTONIC)); }
nanoseconds kernel_driver::wall_time() noexcept { return read_time(CLOCK_REALTIME); }

std::uint64_t kernel_driver::random() noexcept {
  if (entropy_used_ == entropy_.size()) {
    std::size_t have = 0;
    while (have < sizeof entropy_) {
      const ssize_t got =
          ::getrandom(reinterpret_cast<char*>(entropy_.data()) + have, sizeof entropy_ - have, 0);
      if (got > 0) have += static_cast<std::size_t>(got);
    }
    entropy_used_ = 0;
  }
  return entropy_[entropy_used_++];
}

int kernel_driver::socket(int domain, int type, int protocol) noexcept {
  return outcome(::socket(domain, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol));
}
int kernel_driver::bind(int fd, const ::sockaddr* to, unsigned len) noexcept {
  return outcome(::bind(fd, to, len));
}
int kernel_driver::listen(int fd, int backlog) noexcept { return outcome(::listen(fd, backlog)); }
int kernel_driver::local_name(int fd, ::sockaddr* out, unsigned* len) noexcept {
  return outcome(::getsockname(fd, out, len));
}
int kernel_driver::peer_name(int fd, ::sockaddr* out, unsigned* len) noexcept {
  return outcome(::getpeername(fd, out, len));
}
int kernel_driver::set_option(int fd, int level, int option, const void* value,
                              unsigned len) noexcept {
  return outcome(::setsockopt(fd, level, option, value, len));
}
int kernel_driver::socket_pair(int (&ends)[2]) noexcept {
  return outcome(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends));
}
int kernel_driver::pipe(int (&ends)[2]) noexcept {
  return outcome(::pipe2(ends, O_NONBLOCK | O_CLOEXEC));
}
int kernel_driver::shutdown(int fd, int how) noexcept { return outcome(::shutdown(fd, how)); }
/// For a non-blocking descriptor. The kernel holds the head back until the file's bytes follow it.
std::int64_t kernel_driver::send_from_file(int fd, const ::iovec& head, int file, std::uint64_t at,
                                           std::size_t count) noexcept {
  std::int64_t sent = 0;
  if (head.iov_len != 0) {
    sent =
        system_call::send(fd, head.iov_base, head.iov_len, MSG_DONTWAIT | MSG_NOSIGNAL | MSG_MORE);
    if (sent < static_cast<std::int64_t>(head.iov_len)) return sent;
  }
  auto from = static_cast<off_t>(at);
  const ssize_t behind = ::sendfile(fd, file, &from, count);
  if (behind >= 0) return sent + behind;
  return sent != 0 ? sent : -errno;
}

std::int64_t kernel_driver::send_file_now(int fd, const ::iovec& head, int file, std::uint64_t at,
                                          std::size_t count, bool never_waits) noexcept {
  if (never_waits) return send_from_file(fd, head, file, at, count);
  // sendfile has no flag that says "do not wait"; the socket has.
  const int mode = ::fcntl(fd, F_GETFL);
  if (mode < 0) return -errno;
  const bool waits = (mode & O_NONBLOCK) == 0;
  if (waits && ::fcntl(fd, F_SETFL, mode | O_NONBLOCK) < 0) return -errno;
  const std::int64_t sent = send_from_file(fd, head, file, at, count);
  if (waits) ::fcntl(fd, F_SETFL, mode);
  return sent;
}

bool kernel_driver::has_input(int fd) noexcept {
  ::pollfd asked{fd, POLLIN, 0};
  return ::poll(&asked, 1, 0) == 1 && (asked.revents & POLLIN) != 0;
}

unread_input kernel_driver::unread(int fd) noexcept {
  ::pollfd asked{fd, POLLRDHUP, 0};
  unread_input found;
  if (::poll(&asked, 1, 0) != 1) return found;
  found.over = (asked.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
  found.ended = found.over || (asked.revents & POLLRDHUP) != 0;
  int bytes = 0;
  // All bytes before the end have arrived by now.
  if (found.ended && ::ioctl(fd, FIONREAD, &bytes) == 0)
    found.bytes = static_cast<std::uint64_t>(bytes);
  return found;
}

int kernel_driver::signal_source(std::uint64_t signal_mask) noexcept {
  return detail::listen_to_signals(signal_mask);
}
int kernel_driver::take_signal(std::uint64_t signal_mask) noexcept {
  return detail::take_signal(signal_mask);
}
void kernel_driver::release_signals(int fd, std::uint64_t) noexcept {
  detail::stop_listening(fd);
  detail::block_again();
}

/// The record of the call's descriptor; null for calls that name none.
kernel_driver::number_use* kernel_driver::use_of(const operation& op) {
  if (op.fd < 0 || op.code == op_code::call || op.code == op_code::resolve) return nullptr;
  return &uses_.at(op.fd);
}

bool kernel_driver::enter_number(const operation& op) {
  number_use* const use = use_of(op);
  if (use == nullptr) return true;
  if (use->closing) return false;
  ++use->calls;
  return true;
}

void kernel_driver::leave_number(const operation& op) noexcept {
  number_use* const use = use_of(op);
  if (use == nullptr || --use->calls != 0 || !use->closing) return;
  use->closing = false;
  std::erase(closing_, op.fd);
  ::close(op.fd);
}

bool kernel_driver::send_to_pool(operation& op, worker& w, completion& now) noexcept {
  op.driver_state = pooled;
  if (!enter_number(op)) {
    now = {-EBADF, false, false, 0};
    return false;
  }
  hold(op, w);  // before the pool's threads may look at it
  const blocking_pool::taken taken = pool_.submit(op);
  if (taken == blocking_pool::taken::no) {
    op.move_to(delivery_state::idle);
    op.held = false;
    --pending_;
    left_pool(op);
    now = {-EAGAIN, false, false, 0};
    return false;
  }
  if (taken == blocking_pool::taken::queued) watch_.queued(w, pool_);
  return true;
}

bool kernel_driver::deliver_finished(worker& w) noexcept {
  operation* op = pool_.collect(port_);
  if (op == nullptr) return false;
  if (!lent_) watch_.settle(w);  // the timer is the owner's; when due, it checks the queue itself
  while (op != nullptr) {
    operation* next = op->driver_next;
    left_pool(*op);
    deliver(*op, w, {op->last_result, false, false, 0});
    op = next;
  }
  return true;
}

void kernel_driver::cancel_in_pool(operation& op, worker& w) noexcept {
  if (!pool_.take_back(op)) return;  // the call runs: its result will come
  left_pool(op);
  if (!lent_) watch_.settle(w);
  deliver(op, w, {-ECANCELED, false, false, 0});
}

void kernel_driver::close_number(int fd, worker& w) noexcept {
  if (entered(fd)) {
    // Take back one call at a time: its completion may take back others.
    while (operation* op = pool_.take_back_one(port_, fd)) {
      left_pool(*op);
      deliver(*op, w, {-ECANCELED, false, false, 0});
    }
    if (entered(fd)) {
      uses_[fd].closing = true;
      closing_.push_back(fd);
      return;
    }
  }
  system_call::close(fd);
}

}  // namespace heddle
