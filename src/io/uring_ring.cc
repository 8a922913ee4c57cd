// SPDX-License-Identifier: MIT
// Setup with fall-back, and the call into the kernel.
#include "io/uring_ring.hh"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "heddle/base/error.hh"

namespace heddle {
namespace {

// Completions outnumber requests, because one multishot request brings many; four times as many
// slots absorb a burst of the usual size, and the kernel keeps what does not fit.
constexpr std::uint32_t completions_per_request = 4;
constexpr std::uint32_t entries_min = 8;
constexpr std::uint32_t entries_max = 32768;  // the kernel's own limit

constexpr unsigned basic = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP | IORING_SETUP_R_DISABLED;
constexpr unsigned cooperative = IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG;

// The best grant first. Each line drops the flags that the next older kernel does not have.
constexpr unsigned grants[] = {
    basic | IORING_SETUP_SUBMIT_ALL | cooperative | IORING_SETUP_SINGLE_ISSUER |
        IORING_SETUP_DEFER_TASKRUN,                                              // 6.1
    basic | IORING_SETUP_SUBMIT_ALL | cooperative | IORING_SETUP_SINGLE_ISSUER,  // 6.0
    basic | IORING_SETUP_SUBMIT_ALL | cooperative,                               // 5.19
    basic | IORING_SETUP_SUBMIT_ALL,                                             // 5.18
    basic,                                                                       // 5.10
};

}  // namespace

int open_ring(io_uring& ring, std::uint32_t entries, bool several) noexcept {
  entries = std::clamp(entries, entries_min, entries_max);
  int answer = -EINVAL;
  for (const unsigned flags : grants) {
    if (several && (flags & IORING_SETUP_SINGLE_ISSUER) != 0) continue;
    // A tight RLIMIT_MEMLOCK (kernels before 5.12 count rings) leaves room for a smaller ring.
    for (std::uint32_t size = entries; size >= entries_min; size /= 2) {
      io_uring_params params{};
      params.flags = flags;
      params.cq_entries = size * completions_per_request;
      answer = io_uring_queue_init_params(size, &ring, &params);
      if (answer != -ENOMEM) break;
    }
    if (answer != -EINVAL) break;
  }
  return answer;
}

uring_ring::uring_ring(std::uint32_t entries, std::uint32_t iowq_threads_max, bool several)
    : iowq_threads_max_(iowq_threads_max) {
  const int answer = open_ring(ring_, entries, several);
  if (answer < 0)
    throw failure(kernel_error(answer), "io_uring cannot be set up here (heddle doctor says why)");
  for (unsigned i = 0; i < ring_.sq.ring_entries; ++i) ring_.sq.array[i] = i;
  enter_fd_ = ring_.ring_fd;
}

void uring_ring::start() noexcept {
  started_ = true;
  // The system call itself, because the library of Debian 12 declares io_uring_enable_rings and
  // does not export it.
  const long answer =
      ::syscall(SYS_io_uring_register, ring_.ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr, 0);
  HEDDLE_ASSERT(answer == 0, "the ring could not be enabled: run the driver on one thread");
  // The kernel may refuse both (it is old, or all slots of this thread are taken): then each call
  // looks the ring up, or the kernel keeps its own bound on threads.
  if (!lent_) take_slot();
  unsigned threads_max[2] = {iowq_threads_max_, iowq_threads_max_};
  (void)io_uring_register_iowq_max_workers(&ring_, threads_max);
}

/// Registers the ring in a slot of this thread, which saves a look-up in each call. The library's
/// own function is of no use: it gives the slot back on whichever thread destroys the ring, where
/// the same slot may belong to another ring.
void uring_ring::take_slot() noexcept {
  io_uring_rsrc_update slot{};
  slot.offset = ~0U;  // any
  slot.data = static_cast<std::uint64_t>(ring_.ring_fd);
  if (::syscall(SYS_io_uring_register, ring_.ring_fd, IORING_REGISTER_RING_FDS, &slot, 1) != 1)
    return;
  slot_ = static_cast<int>(slot.offset);
  slot_thread_ = ::gettid();
  lend(false);
}

/// Changes the thread that may enter the ring. The slot is valid in the thread that registered it.
void uring_ring::lend(bool out) noexcept {
  lent_ = out;
  if (out || slot_ < 0) {
    enter_fd_ = ring_.ring_fd;
    enter_flags_ &= ~static_cast<unsigned>(IORING_ENTER_REGISTERED_RING);
  } else {
    enter_fd_ = slot_;
    enter_flags_ |= IORING_ENTER_REGISTERED_RING;
  }
}

uring_ring::~uring_ring() {
  if (slot_ >= 0 && slot_thread_ == ::gettid()) {  // else it went with its thread
    io_uring_rsrc_update slot{};
    slot.offset = static_cast<unsigned>(slot_);
    ::syscall(SYS_io_uring_register, ring_.ring_fd, IORING_UNREGISTER_RING_FDS, &slot, 1);
  }
  io_uring_queue_exit(&ring_);
  if (notices_ >= 0) ::close(notices_);
  if (counted_ >= 0) ::close(counted_);
}

int uring_ring::notices(int wake_fd) noexcept {
  if (notices_ >= 0) return notices_;
  if (!started_) start();  // the thread that asks is the one that will run the ring
  const int set = ::epoll_create1(EPOLL_CLOEXEC);
  const int fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  epoll_event readable{};
  readable.events = EPOLLIN;
  if (set >= 0 && fd >= 0 && ::epoll_ctl(set, EPOLL_CTL_ADD, fd, &readable) == 0 &&
      ::epoll_ctl(set, EPOLL_CTL_ADD, wake_fd, &readable) == 0 &&
      io_uring_register_eventfd(&ring_, fd) == 0) {
    counted_ = fd;
    return notices_ = set;
  }
  if (set >= 0) ::close(set);
  if (fd >= 0) ::close(fd);
  return -1;
}

/// Drains the eventfd of the notices. If a write to another eventfd causes a completion, the kernel
/// counts ours up a little later, and some kernels do that only once for each registration (seen on
/// 6.18). So each step of the foreign loop registers it again. The turns that follow find what has
/// come in between.
void uring_ring::drain_notices() noexcept {
  if (counted_ < 0) return;
  std::uint64_t count;
  static_cast<void>(!::read(counted_, &count, sizeof count));
  if (!deaf_) static_cast<void>(io_uring_unregister_eventfd(&ring_));
  deaf_ = io_uring_register_eventfd(&ring_, counted_) != 0;
}

bool uring_ring::enter(nanoseconds timeout) noexcept {
  if (!started_) [[unlikely]]
    start();
  if (!backlog_.empty()) [[unlikely]]
    move_backlog();
  io_uring_smp_store_release(ring_.sq.ktail, ring_.sq.sqe_tail);
  const unsigned unsent = ring_.sq.sqe_tail - *ring_.sq.khead;

  unsigned flags = enter_flags_;
  unsigned wanted = 0;
  __kernel_timespec span{};
  io_uring_getevents_arg wait{};
  void* argument = nullptr;
  std::size_t argument_bytes = _NSIG / 8;
  if (timeout.count() > 0) {
    wanted = 1;
    ++stats.sleeps;
    if (timeout != nanoseconds::max()) {
      span.tv_sec = timeout.count() / 1'000'000'000;
      span.tv_nsec = timeout.count() % 1'000'000'000;
      wait.ts = reinterpret_cast<std::uint64_t>(&span);
      argument = &wait;
      argument_bytes = sizeof wait;
      flags |= IORING_ENTER_EXT_ARG;
    }
  }
  ++stats.enters;
  const int answer = io_uring_enter2(static_cast<unsigned>(enter_fd_), unsent, wanted, flags,
                                     static_cast<sigset_t*>(argument), argument_bytes);
  if (answer >= 0) {
    stats.requests += static_cast<unsigned>(answer);
    return answer > 0 || unsent == 0;
  }
  // ETIME, EINTR: the sleep ended. EAGAIN, EBUSY: no memory, or completions must be reaped first;
  // batched requests stay batched.
  const bool expected =
      answer == -ETIME || answer == -EINTR || answer == -EAGAIN || answer == -EBUSY;
  HEDDLE_ASSERT(expected, "io_uring_enter failed: run the driver on the thread that ran it first");
  return unsent == 0;
}

io_uring_sqe& uring_ring::request_slow() noexcept {
  if (backlog_.empty()) {
    ++stats.flushes;
    if (enter(nanoseconds::zero()) && ring_.sq.sqe_tail - *ring_.sq.khead < ring_.sq.ring_entries)
      return ring_.sq.sqes[ring_.sq.sqe_tail++ & ring_.sq.ring_mask];
  }
  ++stats.backlogged;
  return backlog_.emplace_back();
}

void uring_ring::move_backlog() noexcept {
  while (!backlog_.empty() && ring_.sq.sqe_tail - *ring_.sq.khead < ring_.sq.ring_entries) {
    ring_.sq.sqes[ring_.sq.sqe_tail++ & ring_.sq.ring_mask] = backlog_.front();
    backlog_.pop_front();
  }
}

}  // namespace heddle
