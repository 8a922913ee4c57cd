// SPDX-License-Identifier: MIT
// Lanes: queueing, starting, ending. Only this file decides which entry runs next.
#include <cerrno>

#include "heddle/core/detail/message.hh"
#include "io/socket_state.hh"

namespace heddle::detail {
namespace {

/// The operation of an entry; null if its role has none.
operation* operation_of(lane_entry& e) noexcept {
  const auto ask = functions_of(e).operation_of;
  return ask != nullptr ? ask(e) : nullptr;
}

wait& wait_of(lane_entry& e) noexcept { return functions_of(e).wait_of(e); }

/// Whether an operation fails so only where the connection broke without an end of the peer's.
/// EPIPE is not of them: it follows an end of either side, too.
bool says_broken(std::int64_t result) noexcept {
  switch (-result) {
    case ECONNRESET:
    case ECONNABORTED:
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case EHOSTDOWN:
    case ENETUNREACH:
    case ENETDOWN:
      return true;
    default:
      return false;
  }
}

/// Reports a use in another color than the one for which the driver receives or accepts.
[[gnu::cold, gnu::noinline]] void report_taken(const descriptor_state& s, link frame,
                                               worker& w) noexcept {
  const site at = is_plain(frame) ? 0 : promise_of(frame).at;
  diagnostic d{diagnostic_kind::wrong_color, 0, at};
  const bool listens = s.kind == descriptor_kind::listener;
  d.object = listens ? "a listener" : "a stream";
  d.help = listens
               ? "the driver still accepts for the color that used the listener last: accept in "
                 "that color; the operation has failed with device_or_resource_busy"
               : "the driver still receives for the color that used the stream last: co_await its "
                 "detach() there before another color uses it; the operation has failed with "
                 "device_or_resource_busy";
  w.sched.report(d);
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
}

bool lane_entry::begin(wait& x, link frame) noexcept {
  worker& w = worker::here();
  if (w.current_context().canceled()) {
    outcome = -ECANCELED;
    return false;
  }
  if (state == nullptr || !state->open()) {
    outcome = -EBADF;
    return false;
  }
  if (state->taken_elsewhere(w)) [[unlikely]] {
    report_taken(*state, frame, w);
    outcome = -EBUSY;
    return false;
  }
  lane& line = state->lane_of(*this);
  const bool first = line.tail == nullptr;
  line.push(*this);
  if (first && state->start(*this, w)) {
    line.remove(*this);
    state->note_end(*this);
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
  if (op != nullptr && op->is_pending()) {
    functions_of(*state).cancel(*state, *op, w);
    return;
  }
  static_cast<void>(x);
  outcome = -ECANCELED;
  uncounted = false;  // the entry's turn had not come, so none of its bytes has left
  state->finish(*this, w);
}

void lane_entry::leave() noexcept {
  operation* op = operation_of(*this);
  HEDDLE_ASSERT(op == nullptr || !op->is_pending(),
                "a frame was destroyed while the kernel used its buffer; cancel it and let it end");
  lane& line = state->lane_of(*this);
  line.remove(*this);
  if (worker* w = worker::current()) state->advance(line, *w);
}

bool start_steps(descriptor_state&, lane_entry& e, worker& w) noexcept {
  return functions_of(e).run(e, w);
}

void cancel_in_driver(descriptor_state&, operation& op, worker& w) noexcept {
  runtime::here().cancel(op, w);
}

void descriptor_state::advance(lane& line, worker& w) noexcept {
  // Each waiting entry keeps this alive by its pin, until the loop has seen an empty lane.
  ++pins;
  while (lane_entry* e = line.head()) {
    if (operation* op = operation_of(*e); op != nullptr && op->is_pending()) break;
    if (!open()) {
      e->outcome = -ECANCELED;
    } else if (!start(*e, w)) {
      break;
    }
    line.remove(*e);
    note_end(*e);
    wake(wait_of(*e), w);
  }
  unpin_one();
}

void descriptor_state::finish(lane_entry& e, worker& w) noexcept {
  lane& line = lane_of(e);
  const bool was_head = line.head() == &e;
  line.remove(e);
  note_end(e);  // before the next write has its turn
  wake(wait_of(e), w);
  if (was_head) advance(line, w);
}

template <class F>
void descriptor_state::each_operation(F&& f) noexcept {
  functions_of(*this).each_operation(
      *this, [](void* context, operation& op) { (*static_cast<F*>(context))(op); }, &f);
  for (const lane* line : {&reads, &writes})
    if (lane_entry* e = line->head())
      if (operation* op = operation_of(*e)) f(*op);
}

/// Refuses a write behind a cut one. If one request to cancel ends both, both report that.
void descriptor_state::refuse(lane_entry& e, worker& w) noexcept {
  const link waiting = wait_of(e).frame;
  const bool canceled = waiting != no_link && !is_plain(waiting) &&
                        promise_of(waiting).context_low != 0 &&
                        w.context_at(promise_of(waiting).context_low).canceled();
  e.outcome = canceled ? -ECANCELED : -EPIPE;
}

void descriptor_state::note_failure(std::int64_t result, bool cuts) noexcept {
  if (kind == descriptor_kind::socket && says_broken(result)) broken = 1;
  if (cuts) cut_writes();
}

void descriptor_state::cut_writes() noexcept {
  if (cut || kind == descriptor_kind::file || kind == descriptor_kind::datagram) return;
  cut = 1;
  if (const stream_functions* const f = stream_functions_of(*this); f != nullptr && open())
    f->cut(*this);
}

bool descriptor_state::cancel_elsewhere(worker& w) noexcept {
  bool any = false;
  each_operation([&](operation& op) { any |= op.is_pending() && &driver_of(op) != w.io; });
  if (!any) return false;
  // Cancel the operations of this worker's driver too: it does not close the number now, which
  // would end them.
  each_operation([&](operation& op) {
    if (op.is_pending()) runtime::here().cancel(op, w);
  });
  return true;
}

void descriptor_state::close_late() noexcept {
  driver_here().close(fd.take_late(), worker::here());
}

void close_number(descriptor_state& s, int number, worker& w) noexcept {
  if (s.cancel_elsewhere(w)) [[unlikely]] {
    // Until the last operation has ended, the number must not name anything else.
    s.fd.close_later(number);
  } else {
    // The driver ends what it holds; those entries leave when their completions come.
    driver_here().close(number, w);
  }
}

void descriptor_state::close(worker& w) noexcept {
  if (!open()) return;
  ++pins;
  functions_of(*this).close(*this, fd.close(), w);
  advance(reads, w);
  advance(writes, w);
  unpin_one();
}

std::uint32_t descriptor_state::home_elsewhere(const worker& w) const noexcept {
  const auto works_in = functions_of(*this).works_in;
  const std::uint32_t home = works_in != nullptr ? works_in(*this) : no_color;
  return home == w.color ? no_color : home;
}

void descriptor_state::do_at_home(home_function f) noexcept {
  worker& w = worker::here();
  const std::uint32_t home = home_elsewhere(w);
  if (home == no_color || !runtime::here().runs_colors()) [[likely]]
    return f(*this, w);
  send_urgent_message(w, home, [this, f] { f(*this, worker::running()); });
}

void descriptor_state::close_for_user() noexcept {
  do_at_home([](descriptor_state& s, worker& w) noexcept { s.close(w); });
}

void descriptor_state::drop_handle() noexcept {
  if (worker* const w = worker::current()) {
    const std::uint32_t home = home_elsewhere(*w);
    if (home != no_color && runtime::here().runs_colors()) [[unlikely]] {
      send_urgent_message(*w, home, [this] { drop_handle(); });
      return;
    }
  }
  if (--handles != 0) return;
  ++pins;
  close(worker::here());
  unpin_one();
}

void descriptor_state::destroy() noexcept { functions_of(*this).destroy(*this, worker::here()); }

}  // namespace heddle::detail
