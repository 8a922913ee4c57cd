// SPDX-License-Identifier: MIT
// How a replaced call waits for descriptors and time.
#include "fiber/hook/waiting.hh"

#include <dlfcn.h>
#include <fcntl.h>

#include <cerrno>
#include <memory>

#include "fiber/stacks.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/sleep.hh"
#include "heddle/sched/detail/here.hh"

namespace heddle::hook {
namespace {

/// Polls several descriptors. Ends when one is ready and the driver has released the others.
class poll_wait : public wait {
 public:
  explicit poll_wait(std::span<const pollfd> each) : wait(kind_of_wait) {
    requests_ = std::make_unique<request[]>(each.size());
    for (const pollfd& p : each) {
      if (p.fd < 0) continue;
      request& r = requests_[count_++];
      r.fd = p.fd;
      r.flags = static_cast<std::uint32_t>(p.events);
      r.owner = this;
    }
  }

  [[nodiscard]] static bool await_ready() noexcept { return false; }
  template <frame_promise P>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) noexcept {
    worker& w = worker::running();
    if (w.current_context().canceled()) {
      outcome_ = -ECANCELED;
      return false;
    }
    for (; submitted_ < count_ && outcome_ == 0; ++submitted_) {
      completion now;
      ++out_;
      if (!driver_here().submit(requests_[submitted_], w, now)) continue;
      --out_;
      outcome_ = now.result;
    }
    if (outcome_ != 0) end_rest(w);
    if (out_ == 0 && outcome_ != 0) return false;
    park(*this, link_of(h), w);
    return true;
  }
  /// The events of the first descriptor that is ready, or -errno.
  [[nodiscard]] std::int64_t await_resume() const noexcept { return outcome_; }

 private:
  struct request : operation {
    request() noexcept : operation(kind_of_request, op_code::poll, -1, &completed) {}
    poll_wait* owner = nullptr;
  };
  static bool completed(operation& op, worker& w, const completion& c) noexcept {
    poll_wait& self = *static_cast<request&>(op).owner;
    --self.out_;
    if (self.outcome_ == 0) {
      self.outcome_ = c.result;
      self.end_rest(w);
    }
    // Cancelling the others may have called this function again for each; the last call wakes.
    if (self.out_ == 0 && self.parked()) wake(self, w);
    return false;
  }
  void end_rest(worker& w) noexcept {
    for (std::size_t i = 0; i < submitted_; ++i)
      if (requests_[i].is_pending()) runtime::here().cancel(requests_[i], w);
  }
  static void asked_to_end(wait& x, worker& w) noexcept {
    auto& self = static_cast<poll_wait&>(x);
    if (self.outcome_ == 0) self.outcome_ = -ECANCELED;
    if (self.out_ == 0) {
      wake(self, w);  // there is no descriptor to wait for
    } else {
      self.end_rest(w);
    }
  }
  static constexpr wait_kind kind_of_wait{"hooked", &asked_to_end};
  static constexpr wait_kind kind_of_request{"hooked", [](wait&, worker&) noexcept {}};

  std::unique_ptr<request[]> requests_;
  std::size_t count_ = 0;
  std::size_t submitted_ = 0;
  std::size_t out_ = 0;
  std::int64_t outcome_ = 0;
};

/// Converts the result or the exception of a wait into an errno.
template <class Wait>
int outcome_of(Wait&& waiting) noexcept {
  try {
    waiting();
    return 0;
  } catch (const std::system_error& e) {
    if (e.code() == std::errc::timed_out) return ETIMEDOUT;
    return e.code() == std::errc::operation_canceled ? ECANCELED : e.code().value();
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

}  // namespace

detail::fiber_core* hooked() noexcept {
  detail::fiber_core* const f = detail::fiber_core::running_here();
  return f != nullptr && f->hooks() ? f : nullptr;
}

bool is_nonblocking(int fd) noexcept {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags < 0 || (flags & O_NONBLOCK) != 0;
}

int wait_any(std::span<const pollfd> each, nanoseconds span) noexcept {
  return outcome_of([&] {
    for (const pollfd& p : each) note_descriptor(p.fd);
    poll_wait ready(each);
    std::int64_t got = 0;
    if (span == nanoseconds::max()) {
      got = await(ready);
    } else {
      got = await(with_timeout(ready, span));
      // The driver was asked to cancel because the time is over; poll() reports that as a timeout.
      if (got == -ECANCELED && !worker::running().current_context().canceled()) got = -ETIMEDOUT;
    }
    if (got < 0) detail::throw_failure(kernel_error(static_cast<int>(got)));
  });
}

int wait_ready(int fd, short events) noexcept {
  const pollfd one{fd, events, 0};
  return wait_any({&one, 1}, nanoseconds::max());
}

int wait_time(nanoseconds span) noexcept {
  return outcome_of([&] { await(sleep_for(span)); });
}

void set_errno(int error) noexcept { errno = error; }

void note_descriptor(int fd) {
  if (fd < 0) return;
  std::vector<bool>& noted = detail::fiber_stacks::here().hooked_descriptors;
  const auto index = static_cast<std::size_t>(fd);
  if (index >= noted.size()) noted.resize(index + 64);
  noted[index] = true;
}

bool forget_descriptor(int fd) noexcept {
  const worker* const w = worker::current();
  if (fd < 0 || w == nullptr || w->fibers == nullptr) return false;
  std::vector<bool>& noted = detail::fiber_stacks::here().hooked_descriptors;
  const auto index = static_cast<std::size_t>(fd);
  if (index >= noted.size() || !noted[index]) return false;
  noted[index] = false;
  return true;
}

void* next_symbol(const char* name) noexcept { return ::dlsym(RTLD_NEXT, name); }

}  // namespace heddle::hook
