// SPDX-License-Identifier: MIT
// How a function ends together with an object. Where its chain of calls waits decides the way:
//
//   in the program (event, sleep, lock)   the wait is cancelled, and the frame destroyed at once
//   woken, and still in the ready queue   it is taken out of the queue and destroyed at once
//   in the kernel, or for children        the wait is asked to end; a plain frame takes the place
//                                         of the function in it, and destroys the function later
//   nowhere: it runs                      the guard lets go of it
//
// A function that is away in another color is cancelled in the ordinary way, and unwinds there or
// at home. Children of the function that are no part of the chain run on borrowed variables; then
// it is cancelled in the ordinary way, and unwinds.
#include "heddle/core/lifetime.hh"

namespace heddle {
namespace {

/// The first wait in this context or below for which f is true.
template <class F>
wait* find_wait(context& c, F&& f) {
  wait* found = nullptr;
  c.waits().each([&](wait& x) {
    if (found == nullptr && f(x)) found = &x;
  });
  c.children().each([&](context& child) {
    if (found == nullptr && child.visiting == nullptr) found = find_wait(child, f);
  });
  return found;
}

/// Whether something below runs in another color, which only its own worker may look at.
bool is_partly_away(context& c) {
  bool away = false;
  c.children().each(
      [&](context& child) { away = away || child.visiting != nullptr || is_partly_away(child); });
  return away;
}

bool is_below(const context* c, const context& top) {
  while (c != nullptr && c != &top) c = c->parent();
  return c == &top;
}

}  // namespace

destroy_guard::end_frame::end_frame(destroy_guard& g) noexcept
    : frame{[](frame* f, heddle_worker* at) -> heddle_link {
              auto& w = *reinterpret_cast<worker*>(at);
              static_cast<end_frame*>(f)->owner.destroy_function(w);
              return no_link;
            },
            [](frame*, heddle_worker*) {}, no_link, HEDDLE_AT_QUEUED, 0},
      owner(g) {}

void destroy_guard::open(const tamed_class& object) {
  worker& w = worker::running();
  void* const start = w.memory.cell_of(this);
  HEDDLE_ASSERT(start != nullptr, "a destroy_guard is a variable of a coroutine, not of this");
  function_ = link_of(std::coroutine_handle<>::from_address(start));
  outer_ = w.context_now;
  own_ = &context::open(w, &w.current_context());
  own_->opened_at = promise_of(function_).at;
  w.context_now = *own_;
  const_cast<tamed_class&>(object).guards_.push_front(*this);
}

destroy_guard::~destroy_guard() {
  if (own_ == nullptr) return;
  worker& w = worker::running();
  w.context_now = w.context_at(outer_);
  context::close(w, *own_);
}

bool destroy_guard::leads_here(link leaf) const noexcept {
  while (leaf != no_link && !is_plain(leaf)) {
    if (leaf == function_) return true;
    const join* const owner = promise_of(leaf).parent();
    if (owner == nullptr || owner->done != nullptr) return false;
    leaf = link_of(owner->waiter);
  }
  return false;
}

void destroy_guard::destroy_function(worker& w) noexcept {
  join& owner = *promise_of(function_).parent();
  const link function = function_;
  const std::uint32_t outer = outer_;
  const context_note running_in = w.context_now;
  std::coroutine_handle<>::from_address(reinterpret_cast<void*>(function)).destroy();
  w.context_now = running_in;
  if (owner.done == nullptr) {  // a frame awaits it, and goes on with operation_canceled
    owner.error = std::make_exception_ptr(failure(canceled_error()));
    promise_of(link_of(owner.waiter)).context_low = outer;
    owner.note_gone();
    w.post(link_of(owner.waiter));
  } else if (const std::coroutine_handle<> next = owner.done(owner, w)) {
    w.post(link_of(next));
  }
}

void destroy_guard::end(worker& w) noexcept {
  link queued = no_link;
  bool others = false;
  w.all_ready().each([&](link l) {
    if (is_plain(l) || !is_below(&w.context_at(promise_of(l).context_low), *own_)) return;
    if (leads_here(l)) {
      queued = l;
    } else {
      others = true;
    }
  });
  wait* const at = find_wait(*own_, [&](wait& x) { return leads_here(x.frame); });
  if (is_partly_away(*own_)) {  // the function ends at its next wait, and unwinds
    own_->cancel(w);
    return;
  }
  if (at == nullptr && queued == no_link) return;  // the function is running
  const bool for_children = at != nullptr && at->kind->for_children;
  if (!for_children && !others)
    others = find_wait(*own_, [&](wait& x) { return &x != at; }) != nullptr;
  if (others && !for_children) {
    own_->cancel(w);
    return;
  }
  if (queued != no_link) {
    w.all_ready().remove(queued);
    destroy_function(w);
    return;
  }
  at->frame = link_of(end_frame_);
  own_->cancel(w);
  // Else it is destroyed when its wait has ended.
  if (w.all_ready().remove(link_of(end_frame_))) destroy_function(w);
}

bool guarded_promise::ended_with_object() const noexcept {
  if (guard_.linked()) return false;
  try {
    throw;
  } catch (const std::system_error& e) {
    return e.code() == std::errc::operation_canceled;
  } catch (...) {
    return false;
  }
}

void tamed_class::end_functions() noexcept {
  worker& w = worker::here();
  while (destroy_guard* g = guards_.pop_front()) g->end(w);
}

}  // namespace heddle
