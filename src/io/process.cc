// SPDX-License-Identifier: MIT
// Waiting for children and collecting them.
#include "heddle/io/process.hh"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heddle/core/expected.hh"
#include "heddle/core/sleep.hh"
#include "heddle/io/call.hh"
#include "heddle/io/detail/lane.hh"
#include "heddle/sched/detail/here.hh"
#include "io/process_state.hh"

namespace heddle {
namespace {

constexpr std::chrono::milliseconds look_each{20};  // while there is no descriptor for a pidfd

}  // namespace

const wait_kind exit_wait::kind_of_wait{"process", &asked_to_end};

exit_wait::exit_wait(std::shared_ptr<detail::process_state> of) noexcept
    : heddle::wait(kind_of_wait), state_(std::move(of)), node_(*this) {}
exit_wait::exit_wait(exit_wait&& other) noexcept : exit_wait(std::move(other.state_)) {}
exit_wait::~exit_wait() = default;

bool exit_wait::await_suspend(std::coroutine_handle<> h) noexcept {
  worker& w = worker::running();
  if (w.current_context().canceled()) {
    canceled_ = true;
    return false;
  }
  if (state_ == nullptr || state_->done) return false;
  state_->waiters.push_back(node_);
  park(*this, link_of(h), w);
  return true;
}

result<exit_status> exit_wait::await_result() const noexcept {
  if (canceled_) return std::unexpected(canceled_error());
  if (state_ == nullptr) return std::unexpected(kernel_error(-ECHILD));
  if (state_->failure_code < 0) return std::unexpected(kernel_error(state_->failure_code));
  return state_->status;
}

exit_status exit_wait::await_resume() const {
  const auto how = await_result();
  if (!how) throw failure(how.error(), "cannot tell how a process ended");
  return *how;
}

void exit_wait::asked_to_end(wait& x, worker& w) noexcept {
  auto& self = static_cast<exit_wait&>(x);
  self.canceled_ = true;
  self.node_.unlink();
  wake(self, w);
}

int process::id() const noexcept { return state_ != nullptr ? state_->pid : -1; }
bool process::ended() const noexcept { return state_ == nullptr || state_->done; }

void process::kill(int signal) const {
  if (ended() || state_->pid < 0) return;
  const long status = state_->pidfd >= 0
                          ? ::syscall(SYS_pidfd_send_signal, state_->pidfd, signal, nullptr, 0)
                          : ::kill(state_->pid, signal);
  if (status < 0 && errno != ESRCH) detail::check_outcome(-errno);
}

namespace detail {

void process_state::ended(exit_status how, int error, worker& w) noexcept {
  done = true;
  status = how;
  failure_code = error;
  while (exit_wait::node* n = waiters.pop_front()) wake(n->owner, w);
}

namespace {

/// Collects the child if it has ended, without a wait. True also if that fails: see `error`.
bool collected(const process_state& child, exit_status& how, int& error) noexcept {
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(child.pid), &info, WEXITED | WNOHANG) != 0) {
    if (errno == EINTR) return false;
    error = -errno;
    return true;
  }
  if (info.si_pid == 0) return false;
  (info.si_code == CLD_EXITED ? how.code : how.signal) = info.si_status;
  return true;
}

}  // namespace

task<> collect(std::shared_ptr<process_state> child) {
  exit_status how;
  int error = 0;
  do {  // in one frame: it may not fail to get another
    // The child has not been collected, so its number cannot name another process.
    if (child->pidfd < 0) child->pidfd = static_cast<int>(::syscall(SYS_pidfd_open, child->pid, 0));
    if (child->pidfd < 0) {
      const auto slept = co_await as_expected(sleep_for(look_each));
      error = slept ? 0 : -ECANCELED;
    } else {
      one_operation ending(op_code::poll, child->pidfd, "child");
      ending.flags = POLLIN;
      const std::int64_t outcome = co_await ending;
      error = outcome < 0 && outcome != -EINTR ? static_cast<int>(outcome) : 0;
    }
  } while (error == 0 && !collected(*child, how, error));
  worker& w = worker::here();
  if (child->pidfd >= 0) driver_here().close(std::exchange(child->pidfd, -1), w);
  child->ended(how, error, w);
}

}  // namespace detail
}  // namespace heddle
