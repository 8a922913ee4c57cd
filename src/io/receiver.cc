// SPDX-License-Identifier: MIT
// The read side of a socket that is served from the driver's blocks. The multishot receive is armed
// by the first reader that finds nothing; it is stopped when `window` blocks stand untaken, and
// armed again by the reader that has taken the last. Blocks on the way at that moment are still
// kept, so the queue may grow beyond the window.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "heddle/io/transfer.hh"
#include "io/descriptor_state.hh"

namespace heddle {

void received::release() noexcept {
  if (driver_ == nullptr) return;
  driver_->return_block(block_);
  driver_ = nullptr;
  len_ = 0;
}

namespace detail {

namespace {
void never_asked(wait&, worker&) noexcept {}  // it is in no context: no frame waits in it
}  // namespace

const wait_kind socket_state::kind_of_wait{"receive all", &never_asked};

socket_state::socket_state(int number, stream_options options) noexcept
    : descriptor_state(number, descriptor_kind::socket),
      receiving_(kind_of_wait, op_code::receive_all, number, &arrived) {
  window = std::max<std::uint8_t>(options.receive_window, 1);
  receiving_.more = this;
}

void socket_state::arm(worker& w) noexcept {
  ++pins;
  completion unused;
  const bool done = driver_here().submit(receiving_, w, unused);
  HEDDLE_ASSERT(!done, "a driver must not end a multishot operation in submit(): fix the driver");
}

bool socket_state::push_block(block b, worker& w) noexcept {
  block_queue* q = queue();
  if (q == nullptr || q->end == q->capacity) {
    const std::uint32_t wider = q == nullptr ? window : 2 * q->capacity;
    block_queue* room;
    try {
      room = static_cast<block_queue*>(w.memory.allocate(block_queue::bytes_for(wider)));
    } catch (...) {
      return false;
    }
    *room = {wider, 0, 0};
    if (q != nullptr) {
      std::copy(q->blocks() + q->first, q->blocks() + q->end, room->blocks());
      room->end = static_cast<std::uint16_t>(q->end - q->first);
      w.memory.release(q, block_queue::bytes_for(q->capacity));
    }
    receiving_.data = q = room;
  }
  q->blocks()[q->end++] = b;
  return true;
}

void socket_state::pop_block(worker& w) noexcept {
  block_queue* q = queue();
  if (++q->first != q->end) return;
  w.memory.release(q, block_queue::bytes_for(q->capacity));
  receiving_.data = nullptr;
}

void socket_state::drop_blocks() noexcept {
  while (queue() != nullptr) {
    driver_of(receiving_).return_block(queue()->blocks()[queue()->first].number);
    pop_block(worker::here());
  }
}

received socket_state::take(worker& w) noexcept {
  // While somebody waits there is nothing: what comes goes to them.
  if (queue() == nullptr) return {};
  driver& d = driver_of(receiving_);
  const block b = queue()->blocks()[queue()->first];
  pop_block(w);
  return received(d, d.block_at(b.number) + b.begin, b.number, b.len);
}

/// Only the first counts.
void socket_state::note_error(std::int64_t result) noexcept {
  if (error != 0) return;
  // What the system gives is far below at_end; this only keeps the two apart.
  error = static_cast<std::uint8_t>(std::min<std::int64_t>(-result, at_end - 1));
}

socket_state::served socket_state::serve(lane_entry& e, worker& w) noexcept {
  driver& d = driver_of(receiving_);
  while (queue() != nullptr) {
    block& b = queue()->blocks()[queue()->first];
    std::byte* data = d.block_at(b.number) + b.begin;
    const std::uint32_t len = b.len;
    if (e.role == lane_role::readable) {
      e.outcome = 1;
      return served::done;
    }
    if (e.role == lane_role::receive) {
      static_cast<receive_wait&>(e).give(received(d, data, b.number, len));
      e.outcome = 0;
      pop_block(w);
      return served::done;
    }
    auto& reader = static_cast<transfer&>(e);
    const std::size_t taken = reader.take({data, len});
    if (taken < len) {
      b.begin += static_cast<std::uint32_t>(taken);
      b.len -= static_cast<std::uint32_t>(taken);
      return served::done;
    }
    d.return_block(b.number);
    pop_block(w);
    if (reader.satisfied()) return served::done;
  }
  if (error != 0) {
    e.outcome = error == at_end ? 0 : -error;
    return served::done;
  }
  if (!receiving_.pending) {
    if (e.role == lane_role::transfer) return served::direct;
    arm(w);
  }
  return served::waits;
}

bool socket_state::arrived(operation& op, worker& w, const completion& c) noexcept {
  socket_state& self = *static_cast<socket_state*>(op.more);
  if (c.has_block) {
    const auto len = static_cast<std::uint32_t>(std::max<std::int64_t>(c.result, 0));
    if (self.fd < 0 || len == 0 || !self.push_block({c.block, 0, len}, w)) {
      driver_of(op).return_block(c.block);
      if (self.fd >= 0 && len != 0) self.note_error(-ENOMEM);
    }
  }
  if (c.result == 0 && !c.more && self.error == 0) self.error = at_end;
  switch (c.result < 0 ? -c.result : 0) {
    case 0:
    case ECANCELED:  // stopped at the window, or closed
    case EINTR:
    case EAGAIN:
    case ENOBUFS:
      break;  // whoever waits arms it again
    default:
      self.note_error(c.result);
  }
  ++self.pins;
  self.advance(self.reads, w);
  const bool go_on = self.fd >= 0 && self.untaken() < self.window;
  if (!c.more) self.unpin_one();
  self.unpin_one();
  return go_on;
}

}  // namespace detail

namespace {

template <class Wait>
void cancel_program_wait(wait& x, worker& w) noexcept {
  static_cast<Wait&>(x).cancel(x, w);
}

const wait_kind receive_kind{"receive", &cancel_program_wait<receive_wait>};
const wait_kind readable_kind{"readable", &cancel_program_wait<readable_wait>};

}  // namespace

receive_wait::receive_wait(detail::descriptor_state* on) noexcept
    : wait(receive_kind), lane_entry(on, detail::lane_role::receive, false) {}
receive_wait::receive_wait(receive_wait&& other) noexcept
    : wait(receive_kind), lane_entry(std::move(other)) {}
readable_wait::readable_wait(detail::descriptor_state* on) noexcept
    : wait(readable_kind), lane_entry(on, detail::lane_role::readable, false) {}
readable_wait::readable_wait(readable_wait&& other) noexcept
    : wait(readable_kind), lane_entry(std::move(other)) {}

}  // namespace heddle
