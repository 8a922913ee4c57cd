// SPDX-License-Identifier: MIT
// Scopes: children begin and end, joiners wait for the last one, and the first failure is kept.
#include "heddle/core/scope.hh"

#include "heddle/core/enter.hh"
#include "heddle/core/exception_lines.hh"

namespace heddle {

// The joiner waits for its children in any case. Their context may lie outside of the one that is
// cancelled, where a request to cancel does not reach them by itself.
const wait_kind scope::joiner::kind_of_wait{"children", &end_children, true};

void scope::joiner::end_children(wait& x, worker& w) noexcept {
  auto& self = static_cast<joiner&>(x);
  self.asked_to_end_ = true;
  self.scope_.context_->cancel(w);
}

scope::scope(std::source_location where)
    : context_(&context::open(worker::here(), &worker::here().current_context())),
      children_(*this),
      kind_(kind::children) {
  context_->opened_at = site_of(where);
}

scope::scope(worker& w, kind k)
    : context_(&context::open(w, nullptr)), children_(*this), kind_(k) {}

scope::~scope() {
  if (live_ != 0) [[unlikely]]
    left_too_early();
  context::close(worker::here(), *context_);
}

void scope::left_too_early() const noexcept {
  const source_line made = resolve_site(context_->opened_at);
  const std::string what =
      "a scope ends after its tasks (" + std::to_string(live_) + (live_ == 1 ? " runs)" : " run)");
  const char* const help =
      std::uncaught_exceptions() != 0
          ? "an exception leaves the function that made it, a timeout or a cancellation perhaps; "
            "use with_scope() or with_window(), which wait for the tasks in that case too"
          : "co_await its join() before it dies, or use with_scope()";
  detail::assertion_failed(what.c_str(), help, made.file, static_cast<int>(made.line));
}

void scope::spawn(task<> t) {
  HEDDLE_ASSERT(t, detail::empty_task);
  const auto h = t.release();
  detail::task_promise<void>& promise = h.promise();
  promise.set_parent(children_);
  promise.context_low = context_->low();
  ++live_;
  worker::here().post(link_of(h));
}

namespace {

/// Runs a task whose color differs from its scope's.
task<> run_colored(color c, task<> t) {
  co_await enter(c);
  co_await std::move(t);
}

}  // namespace

void scope::spawn(color c, task<> t) {
  worker& w = worker::here();
  const std::uint32_t place = w.place_of(c.number);
  if (place == w.color) {
    spawn(std::move(t));
  } else if (kind_ == kind::root) {
    HEDDLE_ASSERT(t, detail::empty_task);
    const auto h = t.release();
    h.promise().context_low = 0;  // the root scope of that color adopts the task
    w.post_to(place, link_of(h));
  } else {
    spawn(run_colored(c, std::move(t)));
  }
}

void scope::cancel() noexcept { context_->cancel(worker::here()); }

bool detail::is_cancellation(const std::exception_ptr& error) noexcept {
  if (!error) return false;
  try {
    std::rethrow_exception(error);
  } catch (const std::system_error& e) {
    return e.code() == std::errc::operation_canceled;
  } catch (...) {
    return false;
  }
}

bool detail::is_loss_of_peer(const std::exception_ptr& error) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (const std::system_error& e) {
    return e.code() == std::errc::connection_reset || e.code() == std::errc::broken_pipe ||
           e.code() == std::errc::connection_aborted;
  } catch (...) {
    return false;
  }
}

void scope::fail(std::exception_ptr error) noexcept {
  // A child that ends because it was asked to has not failed.
  if (error_ && canceled() && detail::is_cancellation(error)) return;
  if (!error_) error_ = std::move(error);
  cancel();
}

std::coroutine_handle<> scope::last_left(worker& w) noexcept {
  joiner& x = *std::exchange(waiter_, nullptr);
  for (joiner* other = x.next_; other != nullptr;) wake(*std::exchange(other, other->next_), w);
  x.take_out();
  const link l = std::exchange(x.frame, no_link);
  if (is_plain(l)) {  // the function that waited here ends with an object: lifetime.hh
    w.post(l);
    return {};
  }
  w.context_now = w.context_at(promise_of(l).context_low);
  const auto next = std::coroutine_handle<>::from_address(reinterpret_cast<void*>(l));
  // The worker's loop may resume it later: then the caller gets nothing to resume.
  return detail::transfer_to(next) == next ? next : std::coroutine_handle<>();
}

void scope::leave_later(worker& w) noexcept {
  if (--live_ != 0 || waiter_ == nullptr) return;
  for (joiner* x = std::exchange(waiter_, nullptr); x != nullptr;)
    wake(*std::exchange(x, x->next_), w);
}

void scope::throw_outcome(bool joiner_was_asked) const {
  if (error_) std::rethrow_exception(error_);
  // The caller that cancelled this scope knows that. A request to the joiner, or from above, is
  // news to the joiner.
  if (joiner_was_asked) detail::throw_failure(canceled_error());
  if (context_->parent() != nullptr && context_->parent()->canceled())
    detail::throw_failure(canceled_error());
}

void scope::child_failed(std::exception_ptr error, worker& w) noexcept {
  if (canceled() && detail::is_cancellation(error)) {
    cut_short_ = true;
    return;
  }
  if (kind_ != kind::root) return fail(std::move(error));
  const auto kind = detail::is_loss_of_peer(error) ? diagnostic_kind::lost_peer
                                                   : diagnostic_kind::unhandled_exception;
  if (!w.reports(kind)) return;
  const std::vector<site> way = exception_lines(error);
  w.sched.report({kind, way.empty() ? 0 : way.front(), 0, 1, std::move(error), way});
}

std::coroutine_handle<> scope::children_join::ended(heddle::join& j, worker& w) noexcept {
  scope& s = static_cast<children_join&>(j).owner;
  if (j.error) [[unlikely]]
    s.child_failed(std::exchange(j.error, nullptr), w);
  return s.leave(w);
}

}  // namespace heddle
