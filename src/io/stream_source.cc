// SPDX-License-Identifier: MIT
// The state of a listener that a program's source feeds, and the task that calls the source.
#include "heddle/io/stream_source.hh"

#include <cerrno>
#include <deque>
#include <new>

#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "io/state_kinds.hh"

namespace heddle::detail {
namespace {

/// A handle whose state can be taken out.
struct handle : stream {
  explicit handle(stream&& s) noexcept : stream(std::move(s)) {}
  [[nodiscard]] descriptor_state* release() noexcept { return std::exchange(state_, nullptr); }
};

class source_state : public descriptor_state {
 public:
  explicit source_state(std::unique_ptr<stream_source> from) noexcept
      : descriptor_state(no_number, descriptor_kind::source), source_(std::move(from)) {}

  [[nodiscard]] bool start(lane_entry& e) noexcept {
    if (given_ < arrived_.size()) {
      ++given_;  // the accept's awaiter takes the stream, or drops it
      e.outcome = 0;
      return true;
    }
    if (finished_) {
      e.outcome = -ECANCELED;
      return true;
    }
    if (error_ != 0) {
      e.outcome = std::exchange(error_, 0);
      return true;
    }
    if (calling_) return false;
    try {
      runtime::here().spawn(call_once(*this));
    } catch (const std::bad_alloc&) {
      e.outcome = -ENOMEM;
      return true;
    }
    set_home(works_in_, worker::running().color);
    calling_ = true;
    ++pins;
    return false;
  }
  [[nodiscard]] descriptor_state* take() noexcept {
    --given_;
    stream first = std::move(arrived_.front());
    arrived_.pop_front();
    return handle(std::move(first)).release();
  }
  /// Takes back the stream of an accept that has ended: the next accept gets it.
  void drop(worker& w) noexcept {
    --given_;
    ++pins;
    advance(reads, w);
    unpin_one();
  }
  [[nodiscard]] std::uint32_t works_in() const noexcept { return home_in(works_in_); }
  void finish(worker& w) noexcept {
    finished_ = true;
    stop_.cancel();
    ++pins;
    advance(reads, w);
    unpin_one();
  }
  void close_source() noexcept {
    finished_ = true;
    if (!calling_) {
      source_->close();
    } else {
      stop_.cancel();
    }
  }

 private:
  static task<> call_once(source_state& s) {
    auto next = co_await as_expected(with_cancel(s.stop_, s.source_->next()));
    worker& w = worker::running();
    s.calling_ = false;
    if (next) {
      try {
        s.arrived_.push_back(std::move(*next));
      } catch (const std::bad_alloc&) {
        s.error_ = -ENOMEM;
      }
    } else {
      s.error_ = negative_errno(next.error());
    }
    if (!s.open()) s.source_->close();
    s.advance(s.reads, w);
    s.unpin_one();
  }

  std::unique_ptr<stream_source> source_;
  std::deque<stream> arrived_;
  std::size_t given_ = 0;  // streams there for accepts that have ended and not been resumed
  cancel_source stop_;
  std::uint32_t works_in_ = 0;  // home_in(): the color of the task that was started last
  std::int32_t error_ = 0;
  bool calling_ = false;
  bool finished_ = false;
};

source_state& source_of(descriptor_state& s) noexcept { return static_cast<source_state&>(s); }

}  // namespace

const descriptor_functions source_functions = {
    .start = [](descriptor_state& s, lane_entry& e,
                worker&) noexcept { return source_of(s).start(e); },
    .cancel = &cancel_in_driver,
    .close = [](descriptor_state& s, int, worker&) noexcept { source_of(s).close_source(); },
    .each_operation = &no_operation,
    .destroy = &destroy_state<source_state>,
    .works_in =
        [](const descriptor_state& s) noexcept {
          return static_cast<const source_state&>(s).works_in();
        },
};

const listener_functions sourced_functions = {
    .take = [](descriptor_state& s, std::int32_t) { return source_of(s).take(); },
    .drop = [](descriptor_state& s, std::int32_t) noexcept { source_of(s).drop(worker::here()); },
    .finish = [](descriptor_state& s, worker& w) noexcept { source_of(s).finish(w); },
    .pauses = [](const descriptor_state&) noexcept { return std::uint64_t{0}; },
};

}  // namespace heddle::detail

namespace heddle {

listener make_listener(std::unique_ptr<stream_source> source) {
  worker& w = worker::here();
  void* const cell = w.memory.allocate(sizeof(detail::source_state));
  return listener(new (cell) detail::source_state(std::move(source)));
}

}  // namespace heddle
