// SPDX-License-Identifier: MIT
// Operations as io_uring requests. Requests are batched: submit() only fills one, and one call a
// turn sends them all, waits, and brings back completions. Multishot accept and receive run until
// they are cancelled; when the kernel ends one by itself it is started again, unseen by the front
// end.
#include "io/uring.hh"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "io/kernel_driver.hh"
#include "io/op_queue.hh"
#include "io/shared_driver.hh"
#include "io/uring_blocks.hh"
#include "io/uring_descriptor.hh"
#include "io/uring_prepare.hh"
#include "io/uring_ring.hh"

namespace heddle {
namespace {

class uring_driver : public kernel_driver {
 public:
  explicit uring_driver(driver_place& place)
      : kernel_driver(place),
        ring_(options_.queue_entries, options_.pool_threads_max, place.workers > 1),
        blocks_(ring_.raw(), options_.block_count, options_.block_bytes) {
    watch_wake();
  }

  [[nodiscard]] const char* name() const noexcept override { return "io_uring"; }
  [[nodiscard]] std::unique_ptr<driver> for_worker(driver_place& place) override {
    place.options = options_;
    return make_uring_driver(place);
  }
  [[nodiscard]] int descriptor() noexcept override { return ring_.notices(wake_fd_); }
  void drain_descriptor() noexcept override {
    kernel_driver::drain_descriptor();
    ring_.drain_notices();
  }
  [[nodiscard]] bool unsent() const noexcept override {
    return ring_.batched() || !first_served_.empty() || ring_.deaf();
  }

  // Our own sockets are blocking: the ring waits where a call would block, and gives no EAGAIN. Our
  // own pipes are not: see uring_descriptor.hh.
  // Accepted sockets are not, for sendfile; receiving and sending in the ring wait there too.
  [[nodiscard]] int socket(int domain, int type, int protocol) noexcept override {
    const int fd = ::socket(domain, type | SOCK_CLOEXEC, protocol);
    if (fd < 0) return -errno;
    state_of(fd).fresh = false;
    return fd;
  }
  [[nodiscard]] int socket_pair(int (&ends)[2]) noexcept override {
    return ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0 ? -errno : 0;
  }
  [[nodiscard]] int pipe(int (&ends)[2]) noexcept override {
    const int error = kernel_driver::pipe(ends);
    if (error == 0)
      for (const int end : ends) state_of(end).pipe = true;
    return error;
  }

  [[nodiscard]] std::byte* block_at(std::uint32_t block) noexcept override {
    return blocks_.at(block);
  }
  [[nodiscard]] bool submit(operation& op, worker& w, completion& now) noexcept override {
    op.driver_state = 0;
    if (!native_to_uring(op.code)) {
      return !send_to_pool(op, w, now);
    }
    if (op.fd < 0 && op.fd != AT_FDCWD) {
      now = {-EBADF, false, false, 0};
      return true;
    }
    if (looks_up_a_name(op)) [[unlikely]] {
      if (!enter_number(op)) {
        now = {-EBADF, false, false, 0};
        return true;
      }
      name_calls_.push(op);
    }
    fd_state& fd = state_of(op.fd);
    const bool on_pipe = is_on_pipe(fd, op);
    if (on_pipe && !fd.exhausted) {
      now.result = try_pipe(fd, op);
      if (now.result != -EAGAIN) return true;
    }
    hold(op, w);
    ++fd.pending;
    op.driver_state = fd.epoch;
    if (on_pipe) {
      wait_for_readiness(op, w, readiness_of(op));
    } else {
      send(op);
    }
    return false;
  }

  void cancel(operation& op, worker& w) noexcept override {
    if (!op.held || op.cancel_asked) return;
    op.cancel_asked = true;
    if (in_pool(op)) {
      cancel_in_pool(op, w);
    } else if (op.driver_state & waits_for_turn) {
      forget(first_served_, std::ranges::find(first_served_, &op));
      std::erase(starved_, &op);
      finish(op, w, -ECANCELED);
    } else {
      ask_to_end(op);
    }
  }

  void close(int number, worker& w) noexcept override {
    if (number < 0) return;
    fd_state& fd = state_of(number);
    end_waiting(first_served_, number, w);
    end_waiting(starved_, number, w);
    if (!name_calls_.empty() && entered(number)) [[unlikely]]
      end_name_calls(number, w);
    if (fd.pending != 0) {
      io_uring_sqe& request = ring_.request();
      io_uring_prep_cancel_fd(&request, number, IORING_ASYNC_CANCEL_ALL);
      request.user_data = tag_cancel;
      // Requests batched for this number must reach the kernel before others get the number.
      while (ring_.batched() && ring_.enter(nanoseconds::zero())) {
      }
    }
    fd.epoch = (fd.epoch + 1) & epoch_mask;
    fd.pending = 0;
    fd.fresh = fd.pipe = fd.exhausted = false;
    close_number(number, w);
  }

  void turn(worker& w, time_point until) noexcept override {
    const bool delivered = collect_from_pool(w);
    rearm_first_served();
    collect_blocks(!starved_.empty());
    rearm_starved();
    blocks_.refill();
    nanoseconds timeout = nanoseconds::zero();
    if (until != time_point::min() && w.idle() && ring_.completions() == 0 &&
        first_served_.empty() && !delivered)
      timeout = until == never ? nanoseconds::max() : span_between(now(), until);
    if (timeout > nanoseconds::zero() || ring_.batched() || ring_.kernel_waits())
      ring_.enter(timeout);
    reap(w);
    collect_from_pool(w);
  }

  [[nodiscard]] block_statistics blocks() const noexcept override {
    return {blocks_.count(), blocks_.available(), scarce_};
  }

 protected:
  void take_back(std::uint32_t block) noexcept override { blocks_.give(block); }
  void lend(bool out) noexcept override {
    ring_.lend(out);
    kernel_driver::lend(out);
  }

 private:
  using fd_state = uring_descriptor;
  // AT_FDCWD shares the place of descriptor 0, which nothing else of ours uses.
  [[nodiscard]] fd_state& state_of(int fd) { return fds_.at(std::max(fd, 0)); }

  void send(operation& op) noexcept {
    io_uring_sqe& request = ring_.request();
    prepare(request, op);
    // One block at a time: a stream without a reader must not take many of the last few blocks
    // before it is stopped, and a connection that ends after its first request needs no cancel.
    if (op.code == op_code::receive_all && (blocks_.short_of_blocks() || state_of(op.fd).fresh))
      request.ioprio = 0;
    request.user_data = reinterpret_cast<std::uint64_t>(&op);
  }
  void ask_to_end(operation& op) noexcept {
    io_uring_sqe& request = ring_.request();
    const std::uint64_t tag = op.driver_state & waits_for_readiness ? tag_ready : 0;
    io_uring_prep_cancel64(&request, reinterpret_cast<std::uint64_t>(&op) | tag, 0);
    request.flags |= IOSQE_CQE_SKIP_SUCCESS;
    request.user_data = tag_cancel;
  }
  void watch_wake() noexcept {
    io_uring_sqe& request = ring_.request();
    io_uring_prep_poll_multishot(&request, wake_fd_, POLLIN);
    request.user_data = tag_wake;
  }

  /// Whether the descriptor was closed after the operation began.
  [[nodiscard]] bool outlived(const operation& op) noexcept {
    return state_of(op.fd).epoch != (op.driver_state & epoch_mask);
  }
  void finish(operation& op, worker& w, std::int64_t result) noexcept {
    fd_state& fd = state_of(op.fd);
    if (fd.epoch == (op.driver_state & epoch_mask) && fd.pending != 0) --fd.pending;
    // Bytes that were moved count, even if an error came later; the next call meets it again.
    if (op.whole && op.moved != 0)
      result = std::max<std::int64_t>(result, 0) + static_cast<std::int64_t>(op.moved);
    if (looks_up_a_name(op)) [[unlikely]] {
      name_calls_.remove(op);
      leave_number(op);
    }
    deliver(op, w, {result, false, false, 0});
  }
  /// Starts an operation again that ended without being done.
  void again(operation& op, worker& w) noexcept {
    if (op.cancel_asked || outlived(op)) {
      finish(op, w, -ECANCELED);
      return;
    }
    if (fd_state& fd = state_of(op.fd); is_on_pipe(fd, op)) {
      const std::int64_t result = try_pipe(fd, op);
      if (result != -EAGAIN) return finish(op, w, result);
      return wait_for_readiness(op, w, readiness_of(op));
    }
    ++ring_.stats.rearmed;
    send(op);
  }

  void reap(worker& w) noexcept {
    ring_.reap([&](const io_uring_cqe& c) {
      auto* const op = reinterpret_cast<operation*>(c.user_data & ~tag_mask);
      switch (c.user_data & tag_mask) {
        case 0:
          completed(*op, w, c.res, c.flags);
          break;
        case tag_wake:
          drain_wake();
          if ((c.flags & IORING_CQE_F_MORE) == 0) watch_wake();
          break;
        case tag_ready:
          op->driver_state &= static_cast<std::uint8_t>(~waits_for_readiness);
          again(*op, w);
          break;
        default:
          break;  // a request to cancel has completed
      }
    });
  }

  void completed(operation& op, worker& w, int res, unsigned flags) noexcept {
    const bool more = (flags & IORING_CQE_F_MORE) != 0;
    const bool has_block = (flags & IORING_CQE_F_BUFFER) != 0;
    const std::uint32_t block = flags >> IORING_CQE_BUFFER_SHIFT;
    if (has_block) {
      blocks_.taken();
      if (res <= 0) blocks_.give(block);
    }
    if (multishot(op.code) && (res > 0 || (res == 0 && op.code == op_code::accept_all))) {
      if (op.code == op_code::accept_all) state_of(res).fresh = true;
      completion c{res, true, has_block, has_block ? block : 0};
      c.scarce = has_block && note_scarce(blocks_.available(), blocks_.count());
      if (c.scarce) [[unlikely]]
        blocks_.run_short();
      const bool wanted = deliver(op, w, c);
      if (more) {
        if (!wanted && !op.cancel_asked) {
          op.cancel_asked = true;
          ask_to_end(op);
        }
      } else if (wanted && is_first(op)) {
        op.driver_state |= waits_for_turn;
        first_served_.push_back(&op);
      } else if (wanted) {
        again(op, w);
      } else {
        finish(op, w, -ECANCELED);
      }
      return;
    }
    if (more) return;  // the completion only announces more
    switch (res) {
      case -EINTR:
        again(op, w);
        return;
      case -ENOBUFS:
        if (op.code != op_code::receive_all) break;
        ++ring_.stats.starved;
        if (op.cancel_asked || outlived(op)) {
          finish(op, w, -ECANCELED);
          return;
        }
        blocks_.starved();
        op.driver_state |= waits_for_turn;
        starved_.push_back(&op);
        return;
      case -EAGAIN:
        if (const unsigned events = readiness_of(op); events != 0) {
          wait_for_readiness(op, w, events);
          return;
        }
        break;
      default:
        break;
    }
    finish(op, w, res);
  }

  /// Waits with a poll: for pipes, and for descriptors that others made non-blocking (a signalfd).
  void wait_for_readiness(operation& op, worker& w, unsigned events) noexcept {
    if (op.cancel_asked || outlived(op)) {
      finish(op, w, -ECANCELED);
      return;
    }
    ++ring_.stats.retried;
    op.driver_state |= waits_for_readiness;
    io_uring_sqe& request = ring_.request();
    io_uring_prep_poll_add(&request, op.fd, events);
    request.user_data = reinterpret_cast<std::uint64_t>(&op) | tag_ready;
  }

  /// Whether a connection's first data has come; the receive is then started again at the turn
  /// after the one that sends an answer, if the connection is still there.
  [[nodiscard]] bool is_first(const operation& op) noexcept {
    return op.code == op_code::receive_all && !op.cancel_asked && !outlived(op) &&
           std::exchange(state_of(op.fd).fresh, false);
  }

  /// Starts the receives again of connections that have had a whole turn since their first data.
  void rearm_first_served() noexcept {
    if (first_served_.empty()) {  // all connections in it were closed meanwhile
      seen_a_turn_ = 0;
      return;
    }
    const auto end = first_served_.begin() +
                     static_cast<std::ptrdiff_t>(std::min(seen_a_turn_, first_served_.size()));
    starved_.insert(starved_.end(), first_served_.begin(), end);
    first_served_.erase(first_served_.begin(), end);
    seen_a_turn_ = first_served_.size();
  }

  void rearm_starved() noexcept {
    // One receive for each block that is there; the others go on waiting.
    const std::size_t count = std::min<std::size_t>(starved_.size(), blocks_.available());
    for (std::size_t i = 0; i != count; ++i) {
      operation& op = *starved_[i];
      op.driver_state &= static_cast<std::uint8_t>(~waits_for_turn);
      ++ring_.stats.rearmed;
      send(op);
    }
    starved_.erase(starved_.begin(), starved_.begin() + static_cast<std::ptrdiff_t>(count));
  }

  /// Ends the operations in this list that wait for a descriptor that is being closed. Connections
  /// are closed about in the order in which they were served, so such an operation is near
  /// the front.
  void end_waiting(std::vector<operation*>& waiting, int number, worker& w) noexcept {
    const fd_state& fd = state_of(number);
    for (std::size_t i = 0; i < waiting.size() && fd.pending != 0;) {
      operation& op = *waiting[i];
      if (op.fd != number) {
        ++i;
        continue;
      }
      forget(waiting, waiting.begin() + static_cast<std::ptrdiff_t>(i));
      finish(op, w, -ECANCELED);
    }
  }
  using operations = std::vector<operation*>;
  void forget(operations& waiting, operations::iterator at) noexcept {
    if (at == waiting.end()) return;
    const auto i = static_cast<std::size_t>(at - waiting.begin());
    if (&waiting == &first_served_ && i < seen_a_turn_) --seen_a_turn_;
    waiting.erase(at);
  }

  /// Asks calls on names beneath a folder that is being closed to end: the request that ends all
  /// operations of a descriptor does not find them.
  void end_name_calls(int number, worker& w) noexcept {
    for (operation* op = name_calls_.first; op != nullptr; op = op->driver_next)
      if (op->fd == number) cancel(*op, w);
  }

  uring_ring ring_;
  uring_blocks blocks_;
  fd_table<fd_state> fds_;
  std::vector<operation*> starved_;       // receives to be started when there is a block
  std::vector<operation*> first_served_;  // receives that brought a connection's first data
  std::size_t seen_a_turn_ = 0;           // how many of first_served_ have seen a turn
  op_queue name_calls_;                   // calls on names beneath an open folder
};

}  // namespace

std::unique_ptr<driver> make_uring_driver(driver_place& place) {
  if (place.workers > 1) return std::make_unique<shared_driver<uring_driver>>(place);
  return std::make_unique<uring_driver>(place);
}

}  // namespace heddle
