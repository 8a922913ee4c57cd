// SPDX-License-Identifier: MIT
// The read side of a socket that is served from the driver's blocks. The multishot receive is armed
// by the first reader that finds nothing; it is stopped when `window` blocks are untaken, and
// armed again by the reader that has taken the last. Blocks on the way at that moment are still
// kept, so the queue may grow beyond the window.
//
// Peers that send and are not read would keep all blocks of the driver this way, and then no other
// socket could receive. So while blocks are scarce, the bytes of a block are
// copied at once to memory of their own size, and the block goes back.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "heddle/io/detail/transfer.hh"
#include "io/socket_state.hh"
#include "io/state_kinds.hh"

namespace heddle {

namespace detail {

// The wait of wait_for_input(): its frame asks again, and learns then that it is cancelled.
const wait_kind socket_state::kind_of_wait{"readable",
                                           [](wait& x, worker& w) noexcept { wake(x, w); }};

const descriptor_functions socket_functions = {
    .start = [](descriptor_state& s, lane_entry& e,
                worker& w) noexcept { return static_cast<socket_state&>(s).start(e, w); },
    .cancel = &cancel_in_driver,
    .close =
        [](descriptor_state& s, int number, worker& w) noexcept {
          close_number(s, number, w);
          static_cast<socket_state&>(s).drop_blocks();
          static_cast<socket_state&>(s).serve_input(w);
        },
    .each_operation =
        [](descriptor_state& s, void (*f)(void*, operation&), void* context) noexcept {
          f(context, static_cast<socket_state&>(s).receiving());
        },
    .destroy = &destroy_state<socket_state>,
    .works_in =
        [](const descriptor_state& s) noexcept {
          return static_cast<const socket_state&>(s).receives_in();
        },
};

socket_state::socket_state(int number, stream_options options) noexcept
    : descriptor_state(number, descriptor_kind::socket),
      receiving_(kind_of_wait, op_code::receive_all, number, &arrived) {
  window = std::clamp<std::uint8_t>(options.receive_window, 1, window_max);
  receiving_.submitter = this;
  keep(nullptr);
}

void socket_state::arm(worker& w) noexcept {
  ++pins;
  set_home(receiving_.submitter_color, w.color);
  completion unused;
  const bool done = driver_here().submit(receiving_, w, unused);
  HEDDLE_ASSERT(!done, "a driver must not end a multishot operation in submit(): fix the driver");
}

bool socket_state::push_block(block b, worker& w) noexcept {
  block_queue* q = queue();
  if (q != nullptr && q->end == q->capacity && 2 * q->first >= q->capacity) {
    std::copy(q->blocks() + q->first, q->blocks() + q->end, q->blocks());
    q->end = static_cast<std::uint16_t>(q->end - q->first);
    q->first = 0;
  } else if (q == nullptr || q->end == q->capacity) {
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
    receiving_.submitter_data = q = room;
  }
  q->blocks()[q->end++] = b;
  return true;
}

void socket_state::pop_block(worker& w) noexcept {
  block_queue* q = queue();
  if (++q->first != q->end) return;
  w.memory.release(q, block_queue::bytes_for(q->capacity));
  receiving_.submitter_data = nullptr;
}

/// Keeps the bytes of a completion: in its block, or in a copy when blocks are scarce. If there is
/// no memory for a copy, the block is kept after all.
socket_state::block socket_state::keep(driver& d, const completion& c) noexcept {
  std::byte* const data = d.block_at(c.block);
  const auto len = static_cast<std::uint32_t>(c.result);
  if (c.scarce) [[unlikely]] {
    if (auto* const copy = static_cast<std::byte*>(std::malloc(len))) {
      std::memcpy(copy, data, len);
      d.return_block(c.block);
      return {copy, own, len};
    }
  }
  return {data, c.block, len};
}

received socket_state::lend(const block& b) noexcept {
  if ((b.number & own) != 0) [[unlikely]]
    return received::owned(b.data - (b.number & ~own), b.number & ~own, b.len);
  return received(driver_of(receiving_), b.number, {b.data, b.len});
}

void socket_state::give_back(const block& b) noexcept { lend(b).release(); }

void socket_state::drop_blocks() noexcept {
  while (queue() != nullptr) {
    give_back(queue()->head());
    pop_block(worker::here());
  }
}

unread_input socket_state::unread() const noexcept {
  std::uint64_t bytes = 0;
  if (block_queue* const q = queue())
    for (std::uint32_t i = q->first; i != q->end; ++i) bytes += q->blocks()[i].len;
  if (error != 0) return {.ended = true, .over = error != at_end, .bytes = bytes};
  // The receive brings the end itself, and bytes that it has taken may be on their way.
  if (receiving_.is_pending()) return {};
  unread_input found = driver_here().unread(fd.number());
  if (broken) found.ended = found.over = true;
  if (found.bytes) *found.bytes += bytes;
  return found;
}

received socket_state::take(worker& w) noexcept {
  // While a reader waits the queue is empty: arriving blocks go to the reader.
  if (queue() == nullptr) return {};
  received in = lend(queue()->head());
  pop_block(w);
  return in;
}

/// Notes the first error; later ones are ignored.
void socket_state::note_error(std::int64_t result) noexcept {
  if (error != 0) return;
  // The system's numbers are far below at_end; this only keeps the two apart.
  error = static_cast<std::uint8_t>(std::min<std::int64_t>(-result, at_end - 1));
}

std::int32_t socket_state::outcome_of_error() const noexcept {
  return error == at_end ? 0 : -error;
}

struct socket_state::untaken_blocks final : arrived_bytes {
  untaken_blocks(socket_state& of, worker& at) noexcept : s(of), w(at) {}
  [[nodiscard]] byte_view front() const noexcept override {
    if (s.queue() == nullptr) return {};
    const block& b = s.queue()->head();
    return {b.data, b.len};
  }
  [[nodiscard]] received lend() noexcept override {
    received in = s.lend(s.queue()->head());
    s.pop_block(w);
    return in;
  }
  void drop(std::size_t bytes) noexcept override {
    block& b = s.queue()->head();
    const auto taken = static_cast<std::uint32_t>(bytes);
    if (taken == b.len) {
      s.give_back(b);
      return s.pop_block(w);
    }
    b.data += taken;
    b.len -= taken;
    if ((b.number & own) != 0) b.number += taken;
  }
  [[nodiscard]] bool stop(lane_entry&) noexcept override {
    if (!s.receiving_.is_pending()) {
      set_home(s.receiving_.submitter_color, no_color);
      return true;
    }
    cancel_in_driver(s, s.receiving_, w);
    return false;  // the receive's last completion starts the entry again
  }
  socket_state& s;
  worker& w;
};

bool socket_state::start(lane_entry& e, worker& w) noexcept {
  const entry_functions& role = functions_of(e);
  if (e.write) return role.run(e, w);
  untaken_blocks here(*this, w);
  if (const served now = role.serve(e, here); now != served::wants_more) {
    return now == served::done;
  }
  if (error != 0) {
    e.outcome = outcome_of_error();
    return true;
  }
  if (!receiving_.is_pending()) {
    // If nothing has arrived, a read is an operation of its own, which needs no block.
    if (role.run != nullptr) return role.run(e, w);
    arm(w);
  }
  return false;
}

std::int32_t socket_state::wait_for_input(frame& waiting, worker& w) noexcept {
  if (receiving_.parked())
    return receiving_.frame == link_of(waiting) ? socket_input::parked : socket_input::occupied;
  if (w.current_context().canceled()) return -ECANCELED;
  if (!open()) return -EBADF;
  if (reads.tail != nullptr) return socket_input::occupied;
  const bool over = queue() != nullptr || error != 0;
  if (over && ++burst < burst_max) {
    return queue() != nullptr ? 1 : outcome_of_error();
  }
  burst = 0;
  waiting.context = w.context_now;
  receiving_.frame = link_of(waiting);
  receiving_.since = w.now;
  w.current_context().waits().push_back(receiving_);
  if (over) {
    wake(receiving_, w);
  } else if (!receiving_.is_pending()) {
    arm(w);
  }
  return socket_input::parked;
}

void socket_state::serve_input(worker& w) noexcept {
  if (!receiving_.parked()) [[likely]]
    return;
  if (!open() || queue() != nullptr || error != 0) return wake(receiving_, w);
  if (!receiving_.is_pending()) arm(w);
}

std::size_t socket_state::read_now(byte_span into, worker& w) noexcept {
  untaken_blocks here(*this, w);
  std::size_t count = 0;
  while (count != into.size()) {
    const byte_view front = here.front();
    if (front.empty()) break;
    const std::size_t taken = std::min(front.size(), into.size() - count);
    std::memcpy(into.data() + count, front.data(), taken);
    here.drop(taken);
    count += taken;
  }
  return count;
}

bool socket_state::arrived(operation& op, worker& w, const completion& c) noexcept {
  socket_state& self = *static_cast<socket_state*>(op.submitter);
  if (c.has_block) {
    driver& d = driver_of(op);
    if (!self.open() || c.result <= 0) {
      d.return_block(c.block);
    } else if (const block in = keep(d, c); !self.push_block(in, w)) {
      self.give_back(in);
      self.note_error(-ENOMEM);
    }
  }
  if (c.result == 0 && !c.more && self.error == 0) self.error = self.broken ? ECONNRESET : at_end;
  switch (c.result < 0 ? -c.result : 0) {
    case 0:
    case ECANCELED:  // the receive was stopped at the window, or closed
    case EINTR:
    case EAGAIN:
    case ENOBUFS:
      break;  // the waiting reader arms the receive again
    default:
      self.note_error(c.result);
  }
  ++self.pins;
  self.advance(self.reads, w);
  self.serve_input(w);
  const bool go_on = self.open() && self.untaken() < self.window;
  if (!c.more) self.unpin_one();
  self.unpin_one();
  return go_on;
}

namespace {
socket_state& socket_of(descriptor_state& s) noexcept { return static_cast<socket_state&>(s); }
}  // namespace

std::int32_t socket_input::wait(frame& waiting, worker& w) noexcept {
  return socket_of(*s_).wait_for_input(waiting, w);
}
std::size_t socket_input::read_now(byte_span into, worker& w) noexcept {
  return socket_of(*s_).read_now(into, w);
}
std::uint32_t socket_input::color() const noexcept { return socket_of(*s_).receives_in(); }
void* socket_input::kept() const noexcept { return socket_of(*s_).kept(); }
void socket_input::keep(void* what) noexcept { socket_of(*s_).keep(what); }

}  // namespace detail

namespace {

const wait_kind receive_kind{"receive", &detail::cancel_entry<detail::receive_awaiter>};
const wait_kind detach_kind{"detach", &detail::cancel_entry<detail::detach_awaiter>};
const wait_kind readable_kind{"readable", &detail::cancel_entry<detail::readable_awaiter>};

}  // namespace

namespace detail {

const entry_functions receive_functions = {
    .wait_of = &wait_in<receive_awaiter>,
    .serve =
        [](lane_entry& e, arrived_bytes& from) noexcept {
          if (from.front().empty()) return served::wants_more;
          static_cast<receive_awaiter&>(e).give(from.lend());
          e.outcome = 0;
          return served::done;
        },
};
const entry_functions readable_functions = {
    .wait_of = &wait_in<readable_awaiter>,
    .serve =
        [](lane_entry& e, arrived_bytes& from) noexcept {
          if (from.front().empty()) return served::wants_more;
          e.outcome = 1;
          return served::done;
        },
};
const entry_functions detach_functions = {
    .wait_of = &wait_in<detach_awaiter>,
    .serve =
        [](lane_entry& e, arrived_bytes& from) noexcept {
          return from.stop(e) ? served::done : served::waits;
        },
};

receive_awaiter::receive_awaiter(pinned_state&& on, nothing_more) noexcept
    : lane_awaiter(std::move(on), lane_role::receive, false, extent::all, receive_kind) {}
readable_awaiter::readable_awaiter(pinned_state&& on, nothing_more) noexcept
    : lane_awaiter(std::move(on), lane_role::readable, false, extent::all, readable_kind) {}
detach_awaiter::detach_awaiter(pinned_state&& on, nothing_more) noexcept
    : lane_awaiter(std::move(on), lane_role::detach, false, extent::all, detach_kind) {}

}  // namespace detail
}  // namespace heddle
