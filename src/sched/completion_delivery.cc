// SPDX-License-Identifier: MIT
// Completions on their way to the color of their operation, and requests to cancel on their way to
// the worker whose driver has the operation. Both need a small record between workers. When memory
// is full they do without: the last completion of an operation is kept in the operation, and is
// brought again at the next turn; an earlier one of a multishot operation is given up, and the
// operation ends with -ENOMEM; a request to cancel borrows the driver.
#include <sched.h>

#include <cerrno>

#include "sched/completion_delivery.hh"

namespace heddle {
namespace {

/// A completion that a message delivers in its color.
struct brought_completion {
  void operator()() {
    worker& at = worker::running();
    std::atomic<std::uint32_t>& sent = by->on_their_way(*op);  // the operation may end in arrive()
    arrive(at);
    // release: pairs with the acquire in completion_delivery::complete(), which lets the next one
    // run at once
    sent.fetch_sub(1, std::memory_order_release);
  }
  void arrive(worker& at) {
    if (!c.more && op->delivery == delivery_state::cancel_out) {
      if (c.has_block) {  // data comes now, the end when the request is back
        completion data = c;
        data.more = true;
        static_cast<void>(op->complete(*op, at, data));
        c.result = -ECANCELED;
      }
      op->move_to(delivery_state::ended);
      op->last_result = c.result;
      return;
    }
    if (!c.more) op->move_to(delivery_state::idle);
    const bool wanted = op->complete(*op, at, c);
    if (c.more && !wanted) by->cancel(*op, at);
  }
  operation* op;
  completion c;
  completion_delivery* by;
};

using message = detail::message<brought_completion>;

}  // namespace

/// Sends the completion as a message, because another worker has the color or a frame of another
/// color is running. The completion also waits for a request to cancel that is still on its way,
/// because that request names the operation.
bool completion_delivery::send(seat& s, operation& op, const completion& c) noexcept {
  worker& w = s.w;
  completion sent = c;
  if (op.out_of_memory) {
    if (c.more) return lose(op, w, c);
    sent = {-ENOMEM, false, false, 0};
  }
  void* const cell = w.memory.try_allocate_urgent(sizeof(message));
  if (cell == nullptr) {
    if (c.more) return lose(op, w, c);
    keep(s, op, sent.result);
    return true;
  }
  ++s.count.messages;
  on_their_way(op).fetch_add(1, std::memory_order_relaxed);  // only the thread with the driver adds
  auto* const m = new (cell) message(brought_completion{&op, sent, this});
  colors_.bring(s, op.color, link_of(*m));
  return true;
}

/// Gives back the completion's block or descriptor; the operation is unwanted from here on.
bool completion_delivery::lose(operation& op, worker& w, const completion& c) noexcept {
  op.out_of_memory = true;
  if (c.has_block) {
    driver_of(op).return_block(c.block);
  } else if (op.code == op_code::accept_all && c.result >= 0) {
    driver_of(op).close(static_cast<int>(c.result), w);
  }
  return false;
}

/// Keeps a completion in its operation, which the driver no longer uses.
void completion_delivery::keep(seat& s, operation& op, std::int64_t result) noexcept {
  op.driver_next = std::exchange(s.kept_completions, &op);
  op.last_result = result;
}

/// Brings the kept completions, between two turns of the worker that kept them.
void completion_delivery::bring_kept(seat& s) noexcept {
  operation* op = std::exchange(s.kept_completions, nullptr);
  while (op != nullptr) {
    operation* const next = op->driver_next;
    op->out_of_memory = false;  // the result says so already
    static_cast<void>(complete(*op, s.w, {op->last_result, false, false, 0}));
    op = next;
  }
}

void completion_delivery::cancel(operation& op, worker& w) noexcept {
  if (op.delivery != delivery_state::pending) return;  // or a request is out already
  if (!all_.shared || all_.simulated || op.home == w.index) {
    driver_of(op).cancel(op, w);
    return;
  }
  void* const cell = w.memory.try_allocate_urgent(sizeof(cancel_request));
  if (cell == nullptr) return cancel_by_borrowing(op, w);
  op.move_to(delivery_state::cancel_out);
  auto* const m = new (cell) cancel_request{};
  m->op = &op;
  m->color = w.color;
  // The request has come back: the operation may end now, if the driver has ended it.
  m->resume = [](frame* f, heddle_worker* at) -> heddle_link {
    auto* const self = static_cast<cancel_request*>(f);
    worker& here = *reinterpret_cast<worker*>(at);
    operation& asked = *self->op;
    std::destroy_at(self);
    here.memory.release(self, sizeof(cancel_request));
    if (asked.delivery == delivery_state::cancel_out) {
      asked.move_to(delivery_state::pending);
    } else {
      asked.move_to(delivery_state::idle);
      asked.complete(asked, here, {asked.last_result, false, false, 0});
    }
    return no_link;
  };
  m->destroy = [](frame*, heddle_worker*) {};
  send_cancel(*all_.seats[op.home], *m);
}

void completion_delivery::send_cancel(seat& to, cancel_request& m) noexcept {
  to.queue.lock.lock();
  m.after = to.cancels.load(std::memory_order_relaxed);
  to.cancels.store(&m, std::memory_order_relaxed);
  const bool slept = parked_.call(to);
  to.queue.lock.unlock();
  if (slept) to.io->wake();
}

/// Requests to cancel operations of one worker's driver, carried out by that worker or by another
/// that has borrowed the driver.
void completion_delivery::run_cancels(seat& of, seat& by) noexcept {
  of.queue.lock.lock();
  cancel_request* m = of.cancels.load(std::memory_order_relaxed);
  of.cancels.store(nullptr, std::memory_order_relaxed);
  of.queue.lock.unlock();
  while (m != nullptr) {
    cancel_request* const after = m->after;
    of.io->cancel(*m->op, by.w);
    colors_.bring(by, m->color, link_of(*m));
    m = after;
  }
}

/// Cancels without memory for a request. The operation may end inside. The owner leaves its driver
/// when it is woken. As ever, this worker borrows its own driver first; it gives up on that only
/// after many tries, because it may be inside its own driver already.
void completion_delivery::cancel_by_borrowing(operation& op, worker& w) noexcept {
  class driver& io = driver_of(op);
  constexpr int tries_for_both = 1000;
  for (int tries = 0;; ++tries) {
    const bool own = w.io->borrow(w);
    if ((own || tries >= tries_for_both) && io.borrow(w)) {
      io.cancel(op, w);
      io.give_back(w);
      if (own) w.io->give_back(w);
      io.wake();  // if the owner has parked, its seat::pending still counts the operation
      return;
    }
    if (own) w.io->give_back(w);
    io.wake();
    ::sched_yield();
  }
}

}  // namespace heddle
