// SPDX-License-Identifier: MIT
// Visits: going to another color, coming home, and cancelling a function that is away.
#include "heddle/core/enter.hh"

#include <cstddef>
#include <memory>

#include "heddle/core/detail/tamed_call.hh"
#include "heddle/core/scope.hh"

namespace heddle {
namespace {

visit& visit_of(frame* f, std::size_t offset) noexcept {
  return *reinterpret_cast<visit*>(reinterpret_cast<char*>(f) - offset);
}

worker& from(heddle_worker* w) noexcept { return *reinterpret_cast<worker*>(w); }

void free_visit(visit& v, worker& w) noexcept {
  context::close_away(w, *v.own);
  std::destroy_at(&v);
  w.memory.release(&v, sizeof(visit));
}

void go(visit& v, std::uint32_t place, worker& w) {
  v.own->color = place;
  promise_of(v.function).context_low = v.own->low();
  w.post_to(place, v.function);
}

/// The function has ended, in the color visited: sends a message home.
std::coroutine_handle<> function_ended(join&, worker& w) noexcept {
  visit& v = *w.current_context().visiting;
  v.ended = true;
  v.coming_home.at |= HEDDLE_AT_QUEUED;
  w.post_to(v.home, link_of(v.coming_home));
  return {};
}

/// In the color that the visit came from: resumes the function or, if it has ended, its joiner.
heddle_link arrive(frame* f, heddle_worker* at) {
  visit& v = visit_of(f, offsetof(visit, coming_home));
  worker& w = from(at);
  if (v.next != no_color && !v.cancel_out) {  // the function passes through to a third color
    go(v, std::exchange(v.next, no_color), w);
    return no_link;
  }
  const std::uint32_t outer = v.outer_low;
  const link function = v.function;
  const std::uint32_t next_place = v.next;
  const bool ended = v.ended;
  join& waiter = *v.waiter;
  v.give_back_join();
  v.own->unlink();  // the context around it may close now
  v.over = true;
  if (!v.cancel_out) free_visit(v, w);
  w.context_now = w.context_at(outer);
  link next = no_link;
  if (!ended) {
    if (next_place != no_color) {
      // The function was cancelled while it passed through: it begins a new visit, below the
      // cancelled context.
      promise_of(function).context_low = outer;
      detail::leave_again(function, next_place);
      return no_link;
    }
    next = function;
  } else if (waiter.done == nullptr) {
    next = link_of(waiter.waiter);
  } else {
    next = link_of(waiter.done(waiter, w));
    if (next == no_link) return no_link;
  }
  promise_of(next).context_low = w.context_now;
  return next;
}

heddle_link answered(frame* f, heddle_worker* at) {
  visit& v = visit_of(f, offsetof(visit, canceling));
  v.cancel_out = false;
  if (v.over) free_visit(v, from(at));
  return no_link;
}

/// Runs in the color visited.
heddle_link cancel_away(frame* f, heddle_worker* at) {
  visit& v = visit_of(f, offsetof(visit, canceling));
  worker& w = from(at);
  v.own->cancel(w);
  f->resume = &answered;
  f->at |= HEDDLE_AT_QUEUED;
  w.post_to(v.home, link_of(*f));
  return no_link;
}

void nothing(frame*, heddle_worker*) {}

}  // namespace

visit::visit() noexcept : stand_in(&function_ended) {}

void visit::take_over_join() noexcept {
  promise_base& p = promise_of(function);
  waiter = p.parent();
  HEDDLE_ASSERT(
      !detail::tamed_call::is(*waiter),
      "a tamed function enters a color in its first run; let it wait before, or spawn a task");
  stands_in = scope::serves_many(*waiter);
  if (stands_in) {
    p.set_parent(stand_in);
  } else {
    waiters_own = std::exchange(waiter->done, &function_ended);
  }
}

void visit::give_back_join() noexcept {
  if (!stands_in) {
    waiter->done = waiters_own;
  } else if (ended) {
    waiter->error = std::move(stand_in.error);
    if (waiter->error) detail::exception_moved_to(waiter->error, waiter);
  } else {
    promise_of(function).set_parent(*waiter);
  }
}

void visit::ask_to_cancel(worker& w) noexcept {
  if (cancel_out || over) return;
  cancel_out = true;
  canceling = {&cancel_away, &nothing, no_link, HEDDLE_AT_QUEUED, 0};
  w.post_to(own->color, link_of(canceling));
}

namespace detail {

bool is_taken_over(const join& j) noexcept { return j.done == &function_ended; }

void leave_again(link function, std::uint32_t place) {
  worker& w = worker::running();
  // Triggers of the events that write into the frame run in this color, which the function leaves.
  if (w.foreign_slots != 0) [[unlikely]]
    detach_slots_of(w, reinterpret_cast<void*>(function));
  auto* const v = new (w.memory.allocate(sizeof(visit))) visit;
  v->coming_home = {&arrive, &nothing, no_link, 0, 0};
  v->outer_low = w.context_now;
  v->home = w.color;
  v->function = function;
  try {
    v->own = &context::open_away(w, w.current_context(), *v);
  } catch (...) {
    w.memory.release(v, sizeof(visit));
    throw;
  }
  v->own->opened_at = promise_of(function).at;
  v->take_over_join();
  go(*v, place, w);
}

}  // namespace detail

void enter_awaiter::leave(link function, std::uint32_t place) {
  worker& w = worker::running();
  if (w.current_context().canceled()) detail::throw_failure(canceled_error());
  if (context::is_away(w.context_now)) {
    visit& v = *w.current_context().visiting;
    if (v.function == function) {  // goes home first, and from there perhaps on
      v.next = place == v.home ? no_color : place;
      v.coming_home.at |= HEDDLE_AT_QUEUED;
      w.post_to(v.home, link_of(v.coming_home));
      return;
    }
  }
  detail::leave_again(function, place);
}

}  // namespace heddle
