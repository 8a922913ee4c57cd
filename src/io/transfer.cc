// SPDX-License-Identifier: MIT
// Steps of transfers: the next request to the driver, and the meaning of its answer.
#include "heddle/io/transfer.hh"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "io/state_kinds.hh"

namespace heddle::detail {
namespace {

template <class Transfer>
void cancel_transfer(wait& x, worker& w) noexcept {
  static_cast<Transfer&>(static_cast<operation&>(x)).cancel(x, w);
}

template <class Transfer>
bool transfer_completed(operation& op, worker& w, const completion& c) noexcept {
  auto& self = static_cast<Transfer&>(op);
  // Done, or its turn starts again with the rest; that may be done at once.
  if (self.step(c.result) || self.state->start(self, w)) self.state->finish(self, w);
  return false;
}

const wait_kind read_kind{"read", &cancel_transfer<transfer_awaiter>};
const wait_kind write_kind{"write", &cancel_transfer<transfer_awaiter>};
const wait_kind chain_kind{"write", &cancel_transfer<chain_awaiter>};
const wait_kind writable_kind{"writable", &cancel_transfer<writable_awaiter>};

op_code code_for(const descriptor_state* on, bool is_write) {
  const bool socket = on != nullptr && on->kind != descriptor_kind::plain;
  if (is_write) return socket ? op_code::send : op_code::write;
  return socket ? op_code::receive : op_code::read;
}

/// The consequence of an unsuccessful step: go on (0), or the final outcome.
std::int32_t settle(std::int64_t got, bool ending, const descriptor_state& state) {
  if (got < 0 && got != -EINTR) return static_cast<std::int32_t>(got);
  if (ending || state.fd < 0) return -ECANCELED;
  return 0;
}

template <class Awaiter>
operation* own_operation(lane_entry& e) noexcept {
  return &static_cast<Awaiter&>(e);
}
template <class Awaiter>
wait& own_wait(lane_entry& e) noexcept {
  return static_cast<Awaiter&>(e);
}
template <class Awaiter>
bool run_unless_satisfied(lane_entry& e, worker& w) noexcept {
  return static_cast<Awaiter&>(e).satisfied() || run_steps<Awaiter>(e, w);
}

}  // namespace

const entry_functions transfer_functions = {
    .operation_of = &own_operation<transfer_awaiter>,
    .wait_of = &own_wait<transfer_awaiter>,
    .run = &run_unless_satisfied<transfer_awaiter>,
};
const entry_functions chain_functions = {
    .operation_of = &own_operation<chain_awaiter>,
    .wait_of = &own_wait<chain_awaiter>,
    .run = &run_unless_satisfied<chain_awaiter>,
};
const entry_functions writable_functions = {
    .operation_of = &own_operation<writable_awaiter>,
    .wait_of = &own_wait<writable_awaiter>,
    .run = &run_steps<writable_awaiter>,
};

transfer_awaiter::transfer_awaiter(pinned_state&& on, transfer_asked&& asked) noexcept
    : operation(asked.write ? write_kind : read_kind, op_code::read, -1,
                &transfer_completed<transfer_awaiter>),
      lane_entry(std::move(on), lane_role::transfer, asked.write,
                 asked.write && !asked.some && asked.counter == nullptr),
      bytes_(asked.bytes.data()),
      size_(asked.bytes.size()),
      counter_(asked.counter),
      some_(asked.some) {
  code = code_for(state, write);
}

transfer_awaiter::~transfer_awaiter() {
  HEDDLE_ASSERT(!pending, "a transfer was destroyed while the driver had it: cancel and await it");
}

void transfer_awaiter::prepare() noexcept {
  fd = state->fd;
  data = bytes_ + count_;
  len = static_cast<std::uint32_t>(std::min(size_ - count_, step_bytes_max));
  flags = code == op_code::send ? MSG_NOSIGNAL : 0;
  offset = at_cursor;
  // The caller's counter must be current at all times; without one the driver may do the whole.
  whole = !some_ && counter_ == nullptr && (code == op_code::read || code == op_code::write);
  moved = 0;
}

bool transfer_awaiter::step(std::int64_t got) noexcept {
  if (got > 0) add(static_cast<std::size_t>(got));
  outcome = 0;
  if (satisfied()) return true;
  if (got == 0 && !write) return true;  // the end
  outcome = settle(got, ending, *state);
  return outcome != 0;
}

std::size_t transfer_awaiter::take(byte_view arrived) noexcept {
  const std::size_t taken = std::min(arrived.size(), size_ - count_);
  std::memcpy(bytes_ + count_, arrived.data(), taken);
  add(taken);
  return taken;
}

struct chain_awaiter::vectors {
  // Sixteen pieces a call: a head, a body in chunks and their frames; more go in further steps.
  static constexpr std::size_t max = 16;
  msghdr header{};
  iovec pieces[max];
};

chain_awaiter::chain_awaiter(pinned_state&& on, chain_asked&& asked) noexcept
    : operation(chain_kind, op_code::send, -1, &transfer_completed<chain_awaiter>),
      lane_entry(std::move(on), lane_role::chain, true, !asked.some && asked.counter == nullptr),
      out_(std::move(asked.out)),
      counter_(asked.counter),
      some_(asked.some) {}

chain_awaiter::~chain_awaiter() {
  HEDDLE_ASSERT(!pending, "a write was destroyed while the driver had it: cancel and await it");
  if (vectors_ != nullptr) worker::here().memory.release(vectors_, sizeof(vectors));
}

void chain_awaiter::prepare() noexcept {
  fd = state->fd;
  offset = at_cursor;
  const bool socket = state->kind != descriptor_kind::plain;
  flags = socket ? MSG_NOSIGNAL : 0;
  if (socket && out_.piece_count() > 1) {
    try {
      if (vectors_ == nullptr)
        vectors_ = new (worker::here().memory.allocate(sizeof(vectors))) vectors;
    } catch (...) {
      // Without room for the list, one piece a step still gets everything out.
    }
    if (vectors_ != nullptr) {
      code = op_code::send_msg;
      vectors_->header.msg_iov = vectors_->pieces;
      vectors_->header.msg_iovlen = out_.fill(vectors_->pieces, vectors::max);
      data = &vectors_->header;
      len = sizeof vectors_->header;
      return;
    }
  }
  const byte_view first = out_.piece_at(0).bytes();
  code = socket ? op_code::send : op_code::write;
  data = const_cast<std::byte*>(first.data());
  len = static_cast<std::uint32_t>(std::min(first.size(), step_bytes_max));
}

bool chain_awaiter::step(std::int64_t got) noexcept {
  if (got > 0) {
    count_ += static_cast<std::size_t>(got);
    if (counter_ != nullptr) *counter_ = count_;
    out_.remove_prefix(static_cast<std::size_t>(got));
  }
  outcome = 0;
  if (satisfied()) return true;
  outcome = settle(got, ending, *state);
  return outcome != 0;
}

writable_awaiter::writable_awaiter(pinned_state&& on, nothing_more) noexcept
    : operation(writable_kind, op_code::poll, -1, &transfer_completed<writable_awaiter>),
      lane_entry(std::move(on), lane_role::writable, true) {}

writable_awaiter::~writable_awaiter() {
  HEDDLE_ASSERT(!pending, "a wait for room was destroyed while the driver had it: cancel it");
}

void writable_awaiter::prepare() noexcept {
  fd = state->fd;
  flags = POLLOUT;
}

bool writable_awaiter::step(std::int64_t got) noexcept {
  outcome = got < 0 ? settle(got, ending, *state) : 0;
  return got >= 0 || outcome != 0;
}

}  // namespace heddle::detail
