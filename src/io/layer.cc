// SPDX-License-Identifier: MIT
// The state of a stream that a layer carries, and the tasks that call the layer.
//
// Reading: a reader that finds nothing starts one pull(); its bytes are kept, and the head of
// the read lane is served from there. Writing: the head of the write lane is one push(), or one
// flush() if it has no bytes of its own. While that runs, the entry's operation is marked pending,
// though no driver has it: the entry ends only when the push does.
#include "heddle/io/layer.hh"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>

#include "heddle/base/detail/legal_move.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/io/received.hh"
#include "io/state_kinds.hh"

namespace heddle::detail {
namespace {

/// How far the stream of a layer has ended:
///   open
///   finished  no more will be pushed
///   closing   closed for its users; a task of the layer still runs
///   closed    the layer's close() was called
/// Legal moves: to any later state. Builds with sanitizers, and those without NDEBUG, check each.
enum class layer_end : std::uint8_t { open, finished, closing, closed };
[[nodiscard]] constexpr bool is_legal(layer_end from, layer_end to) noexcept { return from < to; }

class layer_state : public descriptor_state {
 public:
  explicit layer_state(std::unique_ptr<stream_layer> layer) noexcept
      : descriptor_state(no_number, descriptor_kind::layer), layer_(std::move(layer)) {}

  [[nodiscard]] bool start(lane_entry& e) noexcept;
  void cancel_push() noexcept {
    if (push_stop_) push_stop_->cancel();
  }
  void close_layer() noexcept;
  [[nodiscard]] received take() noexcept;
  [[nodiscard]] int shutdown(int how) noexcept;
  [[nodiscard]] stream_layer& layer() const noexcept { return *layer_; }
  [[nodiscard]] std::uint32_t works_in() const noexcept { return home_in(works_in_); }
  [[nodiscard]] bool flush_due() const noexcept { return flush_due_; }
  [[nodiscard]] unread_input unread() const noexcept;
  [[nodiscard]] sent_now try_push(byte_view head, const piece& body) noexcept;

 private:
  struct pulled_bytes final : arrived_bytes {
    explicit pulled_bytes(layer_state& of) noexcept : s(of) {}
    [[nodiscard]] byte_view front() const noexcept override { return s.arrived_.data(); }
    [[nodiscard]] received lend() noexcept override { return std::move(s.arrived_); }
    void drop(std::size_t bytes) noexcept override {
      if (bytes == s.arrived_.size()) return s.arrived_.release();
      s.arrived_.remove_prefix(bytes);
    }
    [[nodiscard]] bool stop(lane_entry& e) noexcept override {
      e.outcome = -EOPNOTSUPP;
      return true;
    }
    layer_state& s;
  };

  [[nodiscard]] bool start_pull() noexcept;
  [[nodiscard]] bool start_push(lane_entry& e) noexcept;
  static task<> pull_once(layer_state& s);
  static task<> pull_when_readable(layer_state& s, stream& below);
  static task<> push_once(layer_state& s, lane_entry& e, chain out);
  static task<> flush_once(layer_state& s, lane_entry& e);
  void push_ended(lane_entry& e) noexcept;
  [[nodiscard]] static operation& operation_in(lane_entry& e) noexcept {
    return *functions_of(e).operation_of(e);
  }
  void move_to(layer_end next) noexcept {
    check_move(end_, next);
    end_ = next;
  }
  /// Notes that a task has ended: the layer may be closed now, and the state may die.
  void task_ended() noexcept {
    if (end_ == layer_end::closing && !pulling_ && !pushing_) close_layer();
    unpin_one();
  }

  std::unique_ptr<stream_layer> layer_;
  received arrived_;  // bytes of one pull(): the next pull() begins when all were read
  cancel_source pull_stop_;
  std::optional<cancel_source> push_stop_;  // cancels the push that runs
  std::uint32_t works_in_ = 0;  // home_in(): the color of the task that was started last
  std::int32_t pull_end_ = 1;   // 0: the end came; below: -errno
  bool pulling_ = false;
  bool pushing_ = false;
  layer_end end_ = layer_end::open;
  bool flush_due_ = false;  // the layer has taken bytes that have not left
};

bool layer_state::start(lane_entry& e) noexcept {
  const entry_functions& role = functions_of(e);
  if (e.write) return (role.satisfied(e) && !flush_due_) || start_push(e);
  pulled_bytes here(*this);
  if (role.serve(e, here) == served::done) return true;
  if (pull_end_ <= 0) {
    e.outcome = pull_end_;
    return true;
  }
  if (pulling_ || start_pull()) return false;
  e.outcome = -ENOMEM;
  return true;
}

bool layer_state::start_pull() noexcept {
  try {
    stream* const below = layer_->waits_for();
    runtime::here().spawn(below != nullptr ? pull_when_readable(*this, *below) : pull_once(*this));
  } catch (const std::bad_alloc&) {
    return false;
  }
  set_home(works_in_, worker::running().color);
  pulling_ = true;
  ++pins;
  return true;
}

/// Waits for the stream below before a pull(). While a connection is idle, this small frame is all
/// that waits.
task<> layer_state::pull_when_readable(layer_state& s, stream& below) {
  // pull() meets the end or the error of the stream below itself.
  static_cast<void>(co_await as_expected(with_cancel(s.pull_stop_, below.readable())));
  co_await pull_once(s);
}

task<> layer_state::pull_once(layer_state& s) {
  auto in = co_await as_expected(with_cancel(s.pull_stop_, s.layer_->pull()));
  worker& w = worker::running();
  s.pulling_ = false;
  if (!in) {
    s.pull_end_ = negative_errno(in.error());
  } else if (in->empty()) {
    s.pull_end_ = 0;
  } else if (s.open()) {
    HEDDLE_ASSERT(s.arrived_.empty(), "a layer was asked for more before all was read");
    s.arrived_ = std::move(*in);
  }
  s.advance(s.reads, w);
  s.task_ended();
}

bool layer_state::start_push(lane_entry& e) noexcept {
  if (end_ != layer_end::open) {
    e.outcome = -EPIPE;
    return true;
  }
  try {
    push_stop_.emplace();
    if (functions_of(e).satisfied(e)) {
      runtime::here().spawn(flush_once(*this, e));
    } else {
      chain out;
      functions_of(e).add_left(e, out);
      runtime::here().spawn(push_once(*this, e, std::move(out)));
    }
  } catch (const std::bad_alloc&) {
    e.outcome = -ENOMEM;
    return true;
  }
  set_home(works_in_, worker::running().color);
  pushing_ = true;
  operation_in(e).move_to(delivery_state::pending);
  ++pins;
  return false;
}

task<> layer_state::push_once(layer_state& s, lane_entry& e, chain out) {
  const std::size_t size = out.size();
  auto sent = co_await as_expected(with_cancel(*s.push_stop_, s.layer_->push(std::move(out))));
  const std::size_t kept = sent ? 0 : std::min(s.layer_->kept(), size);
  const entry_functions& role = functions_of(e);
  static_cast<void>(role.step(e, static_cast<std::int64_t>(sent ? size : kept)));
  // If the layer keeps all bytes, none may have left: a peer that takes none is an error.
  if (!sent && (kept == size || !role.satisfied(e))) e.outcome = negative_errno(sent.error());
  s.flush_due_ = !sent && (s.flush_due_ || kept != 0);
  s.push_ended(e);
}

task<> layer_state::flush_once(layer_state& s, lane_entry& e) {
  result<bool> all_left;
  do {
    all_left = co_await as_expected(with_cancel(*s.push_stop_, s.layer_->flush()));
  } while (all_left && !*all_left && !e.some);
  if (!all_left) e.outcome = negative_errno(all_left.error());
  if (all_left && *all_left) s.flush_due_ = false;
  s.push_ended(e);
}

void layer_state::push_ended(lane_entry& e) noexcept {
  pushing_ = false;
  operation_in(e).move_to(delivery_state::idle);
  finish(e, worker::running());
  task_ended();
}

sent_now layer_state::try_push(byte_view head, const piece& body) noexcept {
  if (pushing_ || end_ != layer_end::open) return {};
  if (flush_due_) return {.bytes = 0, .flush_due = true};
  const sent_now sent = layer_->try_push(head, body);
  flush_due_ = sent.flush_due;
  return sent;
}

void layer_state::close_layer() noexcept {
  arrived_.release();
  if (!pulling_ && !pushing_) {
    move_to(layer_end::closed);
    return layer_->close();
  }
  move_to(layer_end::closing);
  pull_stop_.cancel();
  cancel_push();
}

received layer_state::take() noexcept { return std::move(arrived_); }

unread_input layer_state::unread() const noexcept {
  if (pull_end_ == 0) return {.ended = true, .bytes = arrived_.size()};
  if (pull_end_ < 0) return {.ended = true, .over = true, .bytes = arrived_.size()};
  unread_input found = layer_->unread();
  // A pull that runs may have taken bytes and not given them yet.
  if (pulling_) found.bytes.reset();
  if (found.bytes) *found.bytes += arrived_.size();
  return found;
}

int layer_state::shutdown(int how) noexcept {
  if (how != SHUT_RD && end_ == layer_end::open) {
    if (writes.tail != nullptr) return -EBUSY;
    move_to(layer_end::finished);
    layer_->end_pushing();
  }
  if (how != SHUT_WR && pull_end_ > 0) {
    pull_end_ = 0;
    pull_stop_.cancel();
  }
  return 0;
}

layer_state& layer_of(descriptor_state& s) noexcept { return static_cast<layer_state&>(s); }
const layer_state& layer_of(const descriptor_state& s) noexcept {
  return static_cast<const layer_state&>(s);
}

}  // namespace

const descriptor_functions layer_functions = {
    .start = [](descriptor_state& s, lane_entry& e,
                worker&) noexcept { return layer_of(s).start(e); },
    .cancel = [](descriptor_state& s, operation&, worker&) noexcept { layer_of(s).cancel_push(); },
    .close = [](descriptor_state& s, int, worker&) noexcept { layer_of(s).close_layer(); },
    .each_operation = &no_operation,
    .destroy = &destroy_state<layer_state>,
    .works_in = [](const descriptor_state& s) noexcept { return layer_of(s).works_in(); },
};

const stream_functions layer_stream_functions = {
    .try_write = [](descriptor_state& s, byte_view head, const piece& body,
                    worker&) noexcept { return layer_of(s).try_push(head, body); },
    .flush_due = [](const descriptor_state& s) noexcept { return layer_of(s).flush_due(); },
    .send_file = [](descriptor_state&, byte_view, int, std::uint64_t, std::size_t,
                    worker&) noexcept -> std::int64_t { return -EOPNOTSUPP; },
    .send_file_from = [](const descriptor_state&, worker&) noexcept { return ~std::size_t{0}; },
    .take = [](descriptor_state& s, worker&) noexcept { return layer_of(s).take(); },
    .shutdown = [](descriptor_state& s, int how) noexcept { return layer_of(s).shutdown(how); },
    .peer = [](const descriptor_state& s) noexcept { return layer_of(s).layer().peer(); },
    .unread = [](const descriptor_state& s) noexcept { return layer_of(s).unread(); },
    .end_with_last_write =
        [](descriptor_state& s) noexcept { layer_of(s).layer().end_with_last_write(); },
    .reset_on_close = [](descriptor_state& s) noexcept { layer_of(s).layer().reset_on_close(); },
    .cut = [](descriptor_state& s) noexcept { layer_of(s).layer().cut(); },
};

}  // namespace heddle::detail

namespace heddle {

task<bool> stream_layer::flush() { co_return true; }

stream make_stream(std::unique_ptr<stream_layer> layer) {
  worker& w = worker::here();
  void* const cell = w.memory.allocate(sizeof(detail::layer_state));
  return stream(new (cell) detail::layer_state(std::move(layer)));
}

stream_layer* layer_of(const stream& s) noexcept {
  if (s.state_ == nullptr || s.state_->kind != detail::descriptor_kind::layer || !s.state_->open())
    return nullptr;
  return &static_cast<detail::layer_state*>(s.state_)->layer();
}

}  // namespace heddle
