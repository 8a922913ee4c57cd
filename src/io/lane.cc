// SPDX-License-Identifier: MIT
// Lanes: queueing, starting, ending. The one place that decides whose turn it is.
#include "heddle/io/lane.hh"

#include <cerrno>

#include "heddle/io/file.hh"
#include "heddle/io/transfer.hh"
#include "heddle/io/udp.hh"
#include "io/descriptor_state.hh"
#include "io/listener_state.hh"

namespace heddle::detail {
namespace {

operation* operation_of(lane_entry& e) noexcept {
  switch (e.role) {
    case lane_role::transfer:
      return &static_cast<transfer_awaiter&>(e);
    case lane_role::chain:
      return &static_cast<chain_awaiter&>(e);
    case lane_role::message:
      return &static_cast<datagram_awaiter&>(e);
    default:
      return nullptr;
  }
}

/// Submits and takes steps until the driver keeps the operation (false) or all is done (true).
template <class Entry>
bool run_steps(Entry& e, worker& w) noexcept {
  for (;;) {
    e.prepare();
    completion now;
    if (!driver_here().submit(e, w, now)) return false;
    if (e.step(now.result)) return true;
  }
}

}  // namespace

void pin(descriptor_state& state) noexcept { ++state.pins; }
void unpin(descriptor_state& state) noexcept { state.unpin_one(); }

void lane::push(lane_entry& e) noexcept {
  if (tail == nullptr) {
    e.next = &e;
  } else {
    e.next = tail->next;
    tail->next = &e;
  }
  tail = &e;
  e.queued = true;
}

void lane::remove(lane_entry& e) noexcept {
  lane_entry* before = tail;
  while (before->next != &e) before = before->next;
  if (before == &e) {
    tail = nullptr;
  } else {
    before->next = e.next;
    if (tail == &e) tail = before;
  }
  e.next = nullptr;
  e.queued = false;
}

bool lane_entry::begin(wait& x, link frame) noexcept {
  worker& w = worker::here();
  if (w.current_context().canceled()) {
    outcome = -ECANCELED;
    return false;
  }
  if (state == nullptr || state->fd < 0) {
    outcome = -EBADF;
    return false;
  }
  lane& line = state->lane_of(*this);
  const bool first = line.tail == nullptr;
  line.push(*this);
  if (first && state->start(*this, w)) {
    line.remove(*this);
    if (++state->burst < descriptor_state::burst_max) return false;
    state->burst = 0;
    park(x, frame, w);
    wake(x, w);
    return true;
  }
  state->burst = 0;
  park(x, frame, w);
  return true;
}

void lane_entry::cancel(wait& x, worker& w) noexcept {
  if (ending) return;
  ending = true;
  operation* op = operation_of(*this);
  if (op != nullptr && op->pending) {
    runtime::here().cancel(*op, w);
    return;
  }
  static_cast<void>(x);
  outcome = -ECANCELED;
  state->finish(*this, w);
}

void lane_entry::leave() noexcept {
  operation* op = operation_of(*this);
  HEDDLE_ASSERT(op == nullptr || !op->pending,
                "a frame was destroyed while the kernel used its buffer; cancel it and let it end");
  lane& line = state->lane_of(*this);
  line.remove(*this);
  if (worker* w = worker::current()) state->advance(line, *w);
}

bool descriptor_state::start(lane_entry& e, worker& w) noexcept {
  switch (e.role) {
    case lane_role::transfer:
      if (static_cast<transfer_awaiter&>(e).satisfied()) return true;
      if (!e.write && kind == descriptor_kind::socket) {
        const auto served = static_cast<socket_state*>(this)->serve(e, w);
        if (served != socket_state::served::direct) return served == socket_state::served::done;
      }
      return run_steps(static_cast<transfer_awaiter&>(e), w);
    case lane_role::chain:
      if (static_cast<chain_awaiter&>(e).satisfied()) return true;
      return run_steps(static_cast<chain_awaiter&>(e), w);
    case lane_role::message:
      return run_steps(static_cast<datagram_awaiter&>(e), w);
    case lane_role::receive:
    case lane_role::readable:
      return static_cast<socket_state*>(this)->serve(e, w) == socket_state::served::done;
    case lane_role::accept:
      return static_cast<listener_state*>(this)->serve(e, w);
  }
  return true;
}

void descriptor_state::advance(lane& line, worker& w) noexcept {
  // Whoever still waits here keeps this alive by its pin, until the loop has seen an empty lane.
  ++pins;
  while (lane_entry* e = line.head()) {
    if (operation* op = operation_of(*e); op != nullptr && op->pending) break;
    if (fd < 0) {
      e->outcome = -ECANCELED;
    } else if (!start(*e, w)) {
      break;
    }
    line.remove(*e);
    wake(wait_of(*e), w);
  }
  unpin_one();
}

void descriptor_state::finish(lane_entry& e, worker& w) noexcept {
  lane& line = lane_of(e);
  const bool was_head = line.head() == &e;
  line.remove(e);
  wake(wait_of(e), w);
  if (was_head) advance(line, w);
}

template <class F>
void descriptor_state::each_operation(F&& f) noexcept {
  if (kind == descriptor_kind::socket) f(static_cast<socket_state*>(this)->receiving());
  if (kind == descriptor_kind::listener) f(static_cast<listener_state*>(this)->accepting());
  if (kind == descriptor_kind::file)
    static_cast<file_state*>(this)->uses.each([&](file_use& use) { f(use.asked()); });
  for (const lane* line : {&reads, &writes})
    if (lane_entry* e = line->head())
      if (operation* op = operation_of(*e)) f(*op);
}

bool descriptor_state::cancel_elsewhere(worker& w) noexcept {
  bool any = false;
  each_operation([&](operation& op) { any |= op.pending && &driver_of(op) != w.io; });
  if (!any) return false;
  // Also those that this worker's driver has: it does not close the number now, which would end
  // them.
  each_operation([&](operation& op) {
    if (op.pending) runtime::here().cancel(op, w);
  });
  return true;
}

void descriptor_state::close_late() noexcept {
  const int number = -2 - fd;
  fd = -1;
  driver_here().close(number, worker::here());
}

void descriptor_state::close(worker& w) noexcept {
  if (fd < 0) return;
  const int number = fd;
  ++pins;
  fd = -1;
  if (kind == descriptor_kind::listener) static_cast<listener_state*>(this)->stop(w);
  if (cancel_elsewhere(w)) [[unlikely]] {
    // Until the last of them has ended, the number must not name anything else.
    fd = -2 - number;
  } else {
    // The driver ends what it holds; those entries leave when their completions come.
    driver_here().close(number, w);
  }
  if (kind == descriptor_kind::socket) static_cast<socket_state*>(this)->drop_blocks();
  advance(reads, w);
  advance(writes, w);
  unpin_one();
}

void descriptor_state::drop_handle() noexcept {
  if (--handles != 0) return;
  ++pins;
  close(worker::here());
  unpin_one();
}

void descriptor_state::destroy() noexcept {
  worker& w = worker::here();
  switch (kind) {
    case descriptor_kind::socket: {
      auto* self = static_cast<socket_state*>(this);
      self->~socket_state();
      return w.memory.release(self, sizeof(socket_state));
    }
    case descriptor_kind::listener: {
      auto* self = static_cast<listener_state*>(this);
      self->~listener_state();
      return w.memory.release(self, sizeof(listener_state));
    }
    case descriptor_kind::file: {
      auto* self = static_cast<file_state*>(this);
      self->~file_state();
      return w.memory.release(self, sizeof(file_state));
    }
    case descriptor_kind::plain:
    case descriptor_kind::datagram: {
      this->~descriptor_state();
      return w.memory.release(this, sizeof(descriptor_state));
    }
  }
}

wait& wait_of(lane_entry& e) noexcept {
  switch (e.role) {
    case lane_role::transfer:
      return static_cast<transfer_awaiter&>(e);
    case lane_role::chain:
      return static_cast<chain_awaiter&>(e);
    case lane_role::message:
      return static_cast<datagram_awaiter&>(e);
    case lane_role::receive:
      return static_cast<receive_awaiter&>(e);
    case lane_role::readable:
      return static_cast<readable_awaiter&>(e);
    case lane_role::accept:
      break;
  }
  return static_cast<accept_awaiter&>(e);
}

}  // namespace heddle::detail
