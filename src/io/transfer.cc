// SPDX-License-Identifier: MIT
// Steps of transfers: the next request to the driver, and the meaning of its answer.
#include "heddle/io/detail/transfer.hh"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "io/state_kinds.hh"

namespace heddle::detail {
namespace {

const wait_kind read_kind{"read", &cancel_entry<transfer_awaiter>};
const wait_kind write_kind{"write", &cancel_entry<transfer_awaiter>};
const wait_kind chain_kind{"write", &cancel_entry<chain_awaiter>};
const wait_kind writable_kind{"writable", &cancel_entry<writable_awaiter>};

op_code code_for(const descriptor_state* on, bool is_write) {
  const bool socket = on != nullptr && on->kind != descriptor_kind::plain;
  if (is_write) return socket ? op_code::send : op_code::write;
  return socket ? op_code::receive : op_code::read;
}

/// The consequence of an unsuccessful step: go on (0), or the final outcome.
std::int32_t settle(std::int64_t got, bool ending, const descriptor_state& state) {
  if (got < 0 && got != -EINTR) return static_cast<std::int32_t>(got);
  if (ending || !state.open()) return -ECANCELED;
  return 0;
}

template <class Awaiter>
bool run_unless_satisfied(lane_entry& e, worker& w) noexcept {
  return static_cast<Awaiter&>(e).satisfied() || run_steps<Awaiter>(e, w);
}

served serve_transfer(lane_entry& e, arrived_bytes& from) noexcept {
  auto& reader = static_cast<transfer_awaiter&>(e);
  while (!reader.satisfied()) {
    const byte_view first = from.front();
    if (first.empty()) return served::wants_more;
    from.drop(reader.take(first));
  }
  return served::done;
}

/// The table of a role that a stream's write lane may have.
template <class Awaiter>
constexpr entry_functions writer_functions = {
    .wait_of = &wait_in<Awaiter>,
    .operation_of = &operation_in<Awaiter>,
    .run = &run_unless_satisfied<Awaiter>,
    .serve = nullptr,
    .satisfied =
        [](const lane_entry& e) noexcept { return static_cast<const Awaiter&>(e).satisfied(); },
    .add_left = [](const lane_entry& e, chain& to) { static_cast<const Awaiter&>(e).add_left(to); },
    .step = [](lane_entry& e,
               std::int64_t got) noexcept { return static_cast<Awaiter&>(e).step(got); },
};

constexpr entry_functions with_reader(entry_functions f) noexcept {
  f.serve = &serve_transfer;
  return f;
}

}  // namespace

const entry_functions transfer_functions = with_reader(writer_functions<transfer_awaiter>);
const entry_functions chain_functions = writer_functions<chain_awaiter>;
const entry_functions writable_functions = writer_functions<writable_awaiter>;

counting_awaiter::counting_awaiter(pinned_state&& on, lane_role what, bool is_write,
                                   std::size_t* counter, bool is_some, const wait_kind& kind,
                                   complete_function completed) noexcept
    : lane_awaiter(std::move(on), what, is_write,
                   is_some              ? extent::some
                   : counter == nullptr ? extent::all_uncounted
                                        : extent::all,
                   kind, op_code::send, -1, completed),
      counter_(counter) {}

counting_awaiter::~counting_awaiter() {
  HEDDLE_ASSERT(!is_pending(),
                "a transfer was destroyed while the driver had it: cancel and await it");
}

bool counting_awaiter::ends(std::int64_t got, bool satisfied) noexcept {
  outcome = 0;
  if (satisfied) return true;
  if (got == 0 && !write) {  // without bytes, a read is at the end
    outcome = state->outcome_of_end();
    return true;
  }
  outcome = settle(got, ending, *state);
  return outcome != 0;
}

transfer_awaiter::transfer_awaiter(pinned_state&& on, transfer_asked&& asked) noexcept
    : counting_awaiter(std::move(on), lane_role::transfer, asked.write, asked.counter, asked.some,
                       asked.write ? write_kind : read_kind, &step_completed<transfer_awaiter>),
      bytes_(asked.bytes.data()),
      size_(asked.bytes.size()) {
  code = code_for(state, write);
}

void transfer_awaiter::prepare() noexcept {
  fd = state->fd.number();
  data = bytes_ + count_;
  len = static_cast<std::uint32_t>(std::min(size_ - count_, step_bytes_max));
  flags = code == op_code::send ? MSG_NOSIGNAL : 0;
  offset = at_cursor;
  // The caller's counter must be current at all times; without one the driver may do the whole.
  whole = !some && counter_ == nullptr && (code == op_code::read || code == op_code::write);
  moved = 0;
}

bool transfer_awaiter::step(std::int64_t got) noexcept {
  if (got > 0) add(static_cast<std::size_t>(got));
  return ends(got, satisfied());
}

std::size_t transfer_awaiter::take(byte_view arrived) noexcept {
  const std::size_t taken = std::min(arrived.size(), size_ - count_);
  std::memcpy(bytes_ + count_, arrived.data(), taken);
  add(taken);
  return taken;
}

void transfer_awaiter::add_left(chain& to) const {
  to.append_view(byte_view(bytes_ + count_, size_ - count_).text());
}

struct chain_awaiter::vectors {
  // Sixteen pieces a call: a head, a body in chunks and their frames; more go in further steps.
  static constexpr std::size_t max = 16;
  msghdr header{};
  iovec pieces[max];
};

chain_awaiter::chain_awaiter(pinned_state&& on, chain_asked&& asked) noexcept
    : counting_awaiter(std::move(on), lane_role::chain, true, asked.counter, asked.some, chain_kind,
                       &step_completed<chain_awaiter>),
      out_(std::move(asked.out)) {}

chain_awaiter::~chain_awaiter() {
  if (vectors_ != nullptr) worker::here().memory.release(vectors_, sizeof(vectors));
}

void chain_awaiter::prepare() noexcept {
  fd = state->fd.number();
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
    add(static_cast<std::size_t>(got));
    out_.remove_prefix(static_cast<std::size_t>(got));
  }
  return ends(got, satisfied());
}

void chain_awaiter::add_left(chain& to) const {
  for (std::size_t i = 0; i < out_.piece_count(); ++i) to.append(out_.piece_at(i));
}

writable_awaiter::writable_awaiter(pinned_state&& on, nothing_more) noexcept
    : lane_awaiter(std::move(on), lane_role::writable, true, extent::all, writable_kind,
                   op_code::poll, -1, &step_completed<writable_awaiter>) {}

writable_awaiter::~writable_awaiter() {
  HEDDLE_ASSERT(!is_pending(), "a wait for room was destroyed while the driver had it: cancel it");
}

void writable_awaiter::prepare() noexcept {
  fd = state->fd.number();
  flags = POLLOUT;
}

bool writable_awaiter::step(std::int64_t got) noexcept {
  outcome = got < 0 ? settle(got, ending, *state) : 0;
  return got >= 0 || outcome != 0;
}

}  // namespace heddle::detail
