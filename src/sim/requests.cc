// SPDX-License-Identifier: MIT
// How a request begins: submitted, tried, waiting. deliver.cc has its end, world.hh its
// states.
#include <poll.h>

#include <algorithm>
#include <utility>

#include "heddle/base/error.hh"
#include "sim/process.hh"

namespace heddle::sim {

namespace {

// How many completions of one multishot request may be undelivered: enough to see several in a
// turn.
constexpr std::size_t multishot_ready_max = 4;
// Lanes of requests that keep no order with others are told apart from those of objects by this
// bit.
constexpr std::uint64_t own_lane = std::uint64_t{1} << 63;

bool is_multishot(op_code code) {
  return code == op_code::accept_all || code == op_code::receive_all;
}

bool puts(op_code code) {
  return code == op_code::connect || code == op_code::send || code == op_code::send_msg ||
         code == op_code::write;
}

bool waits_at_object(const operation& op) {
  switch (op.code) {
    case op_code::poll:
    case op_code::accept:
    case op_code::accept_all:
    case op_code::connect:
    case op_code::receive:
    case op_code::receive_all:
    case op_code::send:
    case op_code::receive_msg:
    case op_code::send_msg:
    case op_code::read:
    case op_code::write:
      return true;
    default:
      return false;
  }
}

}  // namespace

request* process::find_request(std::uint64_t number) noexcept {
  const auto found = requests_.find(number);
  return found == requests_.end() ? nullptr : found->second.get();
}

request& process::add_request(operation& op) {
  HEDDLE_ASSERT(!op.is_pending(), "an operation can be submitted again after its last completion");
  const std::uint64_t number = ++requests_made_;
  op.move_to(delivery_state::pending);
  op.cancel_asked = false;
  auto made = std::make_unique<request>();
  request& r = *made;
  r.number = number;
  r.op = &op;
  r.by = worker::current();
  r.lane = own_lane | number;
  r.multishot = is_multishot(op.code);
  requests_.emplace(number, std::move(made));
  by_operation_.emplace(&op, number);
  return r;
}

bool process::submit(operation& op, completion& now) {
  stalled_turns_ = 0;
  request& r = add_request(op);
  if (cut_) {  // a completion that came at once could keep a task busy for ever
    finish(r, {-ECANCELED});
    return false;
  }
  const std::uint64_t number = r.number;
  record(trace_kind::submit, number, op.code, op.fd, op.len);
  const fault f = trouble.draw(op);
  if (!f.none())
    record(trace_kind::fault, number, op.code, op.fd,
           f.error != 0 ? f.error : static_cast<std::int64_t>(f.bytes_max));
  r.bytes_max = f.bytes_max;
  r.not_before = home.time() + f.delay;
  if (!start(r, f)) return false;
  home.settle();
  const auto lane = lanes_.find(r.lane);
  const bool alone = r.finished && !r.multishot && lane != lanes_.end() && lane->second.size() == 1;
  if (!alone || !chance.chance(options.inline_rate)) return false;
  now = r.ready.front();
  unready(r);
  record(trace_kind::done, number, op.code, op.fd, now.result);
  op.move_to(delivery_state::idle);
  by_operation_.erase(&op);
  requests_.erase(number);
  return true;
}

/// Puts a request where it waits. False when it cannot have ended yet.
bool process::start(request& r, const fault& f) {
  operation& op = *r.op;
  const bool at_object = waits_at_object(op);
  const bool has_target = at_object || op.code == op_code::sync;
  (has_target ? r.target : r.folder) = find(op.fd);
  if (f.error != 0 || (has_target && r.target == nullptr)) {
    finish(r, {f.error != 0 ? f.error : -EBADF});
    return true;
  }
  if (f.reset && r.target != nullptr) r.target->reset();
  const std::uint64_t number = r.number;
  const bool file = r.target != nullptr && inode_of(*r.target) != nullptr;
  if (file || !at_object) r.not_before += duration_of(r);
  const bool placed =
      (op.code == op_code::read || op.code == op_code::write) && op.offset != at_cursor && file;
  if (!at_object || placed) {
    const auto act = [this, number] {
      request* again = find_request(number);
      if (again == nullptr || again->finished) return;
      completion c;
      c.result = again->target != nullptr ? attempt(*again, c) : perform(*again);
      finish(*again, c);
    };
    if (r.not_before > home.time()) {
      home.at(r.not_before, act);
      return false;
    }
    act();
    return true;
  }
  object& o = *r.target;
  if (op.code == op_code::poll) {
    o.polls.push_back(number);
  } else {
    const bool out = puts(op.code);
    r.lane = o.number * 2 + out;
    o.waiting[out].push_back(number);
  }
  if (r.not_before > home.time())
    home.at(r.not_before, [this, target = r.target] { home.changed(*target); });
  else
    home.changed(o);
  return true;
}

void process::try_waiting(object& o) {
  for (auto& line : o.waiting) {
    while (!line.empty()) {
      request& r = *find_request(line.front());
      // Requests behind it wait too: the bytes of one object in one direction keep their order.
      if (r.not_before > home.time()) break;
      if (r.multishot && r.ready.size() >= multishot_ready_max) break;
      completion c;
      c.result = attempt(r, c);
      if (c.result == later) {
        if (r.op->code == op_code::connect) r.started = true;
        if ((r.op->flags & MSG_DONTWAIT) == 0 || r.op->code == op_code::connect) break;
        c.result = -EAGAIN;
        c.more = false;
      }
      if (!c.more) line.pop_front();
      finish(r, c);
    }
  }
  const std::deque<std::uint64_t> polls = o.polls;
  for (const std::uint64_t number : polls) {
    request& r = *find_request(number);
    const int always = POLLERR | POLLHUP | POLLNVAL;
    const int now = o.events() & (static_cast<int>(r.op->flags) | always);
    if (now == 0 || r.not_before > home.time()) continue;
    forget(o.polls, number);
    finish(r, {now});
  }
}

std::int64_t process::attempt(request& r, completion& c) {
  operation& op = *r.op;
  object& o = *r.target;
  const auto* message = static_cast<::msghdr*>(op.data);
  const ::iovec whole{op.data, op.len};
  transfer t{{&whole, 1}, r.bytes_max};
  t.socket_call = op.code != op_code::read && op.code != op_code::write;
  t.flags = t.socket_call ? op.flags : 0;
  if (op.code == op_code::receive_msg || op.code == op_code::send_msg) {
    t.pieces = {message->msg_iov, message->msg_iovlen};
    t.message = static_cast<::msghdr*>(op.data);
  }
  if (!t.socket_call) t.offset = op.offset;
  switch (op.code) {
    case op_code::accept:
      return o.accept();
    case op_code::accept_all: {
      const std::int64_t result = o.accept();
      c.more = result >= 0;
      return result;
    }
    case op_code::connect:
      return o.connect(static_cast<const ::sockaddr*>(op.data), op.len);
    case op_code::receive:
    case op_code::receive_msg:
    case op_code::read:
      return o.get(t);
    case op_code::send:
    case op_code::send_msg:
    case op_code::write:
      return o.put(t);
    case op_code::receive_all:
      return attempt_block(r, c);
    case op_code::sync:
      return sync_object(o);
    default:
      return -EINVAL;
  }
}

std::int64_t process::attempt_block(request& r, completion& c) {
  // Without this look a block would be made for every attempt that finds nothing.
  if ((r.target->events() & (POLLIN | POLLHUP | POLLERR)) == 0) return later;
  const bool none = free_blocks_.empty();
  if (none && blocks_.size() == options.limits.block_count) {
    if (std::find(starved_.begin(), starved_.end(), r.target) == starved_.end())
      starved_.push_back(r.target);
    return later;
  }
  if (none) {
    free_blocks_.push_back(static_cast<std::uint32_t>(blocks_.size()));
    blocks_.emplace_back();
  }
  const std::uint32_t block = free_blocks_.back();
  auto bytes = std::make_unique<std::byte[]>(options.limits.block_bytes);
  const ::iovec piece{bytes.get(), options.limits.block_bytes};
  transfer t{{&piece, 1}, r.bytes_max};
  t.socket_call = true;
  const std::int64_t result = r.target->get(t);
  if (result <= 0) return result;
  free_blocks_.pop_back();
  blocks_[block] = std::move(bytes);
  c.more = true;
  c.has_block = true;
  c.block = block;
  c.scarce = blocks().few_left();
  scarce_ += c.scarce ? 1 : 0;
  return result;
}

}  // namespace heddle::sim
