// SPDX-License-Identifier: MIT
// Events across colors. An event is triggered once; the rendezvous that made it collects the
// values. `wait` is Draft's block of that name: it makes events for variables and waits for all.
//
//   draft::wait both;
//   draft::spawn(look_up("a", both.event(a)));      // a is a std::optional
//   draft::spawn(look_up("b", both.event(b)));
//   co_await both.done();
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "heddle/draft/waiters.hh"

namespace heddle::from_draft {

template <class T>
class rendezvous;

namespace detail {

template <class T>
struct rendezvous_state {
  std::mutex lock;
  waiters joiners;
  std::deque<T> values;
  std::size_t pending = 0;  ///< events that were neither triggered nor given up
};

/// One event. Its end without a trigger gives it up.
template <class T>
struct pending_event {
  explicit pending_event(std::shared_ptr<rendezvous_state<T>> of) : to(std::move(of)) {
    const std::scoped_lock held(to->lock);
    ++to->pending;
  }
  pending_event(const pending_event&) = delete;
  pending_event& operator=(const pending_event&) = delete;
  ~pending_event() {
    const std::scoped_lock held(to->lock);
    if (!triggered && --to->pending == 0) to->joiners.tell_all();
  }
  void trigger(T value) {
    const std::scoped_lock held(to->lock);
    if (std::exchange(triggered, true)) return;
    --to->pending;
    to->values.push_back(std::move(value));
    to->joiners.tell_one();
  }
  std::shared_ptr<rendezvous_state<T>> to;
  bool triggered = false;
};

}  // namespace detail

/// Thread: any; copies name one event. Only the first trigger counts.
template <class T = void>
class event {
 public:
  event() noexcept = default;
  explicit event(std::shared_ptr<detail::pending_event<T>> e) noexcept : event_(std::move(e)) {}
  void trigger(T value) const {
    if (event_ != nullptr) event_->trigger(std::move(value));
  }

 private:
  std::shared_ptr<detail::pending_event<T>> event_;
};

/// event<> of Draft: the rendezvous has its id already.
template <>
class event<void> {
 public:
  event() noexcept = default;
  template <class T>
  event(std::shared_ptr<detail::pending_event<T>> e, T id)
      : signal_(std::make_shared<signal_of<T>>(std::move(e), std::move(id))) {}
  void trigger() const {
    if (signal_ != nullptr) signal_->trigger();
  }

 private:
  struct signal {
    signal() = default;
    signal(const signal&) = delete;
    signal& operator=(const signal&) = delete;
    virtual ~signal() = default;
    virtual void trigger() = 0;
  };
  template <class T>
  struct signal_of final : signal {
    signal_of(std::shared_ptr<detail::pending_event<T>> e, T i)
        : of(std::move(e)), id(std::move(i)) {}
    void trigger() override { of->trigger(id); }
    std::shared_ptr<detail::pending_event<T>> of;
    T id;
  };
  std::shared_ptr<signal> signal_;
};

/// Thread: any; copies name one rendezvous.
template <class T>
class rendezvous {
 public:
  rendezvous() : state_(std::make_shared<detail::rendezvous_state<T>>()) {}
  /// A new event: join() gives the value that it is triggered with.
  [[nodiscard]] from_draft::event<T> event() const {
    return from_draft::event<T>(std::make_shared<detail::pending_event<T>>(state_));
  }
  /// A new event without a value: join() gives `id`.
  [[nodiscard]] from_draft::event<> signal(T id) const {
    return {std::make_shared<detail::pending_event<T>>(state_), std::move(id)};
  }
  /// The next event's value. Fails: error.eof when no event is left that could be triggered.
  [[nodiscard]] operation<T> join() const {
    using state = detail::rendezvous_state<T>;
    return shared_operation<T>(state_, &state::joiners, [](state& s) -> std::optional<T> {
      if (s.values.empty()) {
        if (s.pending != 0) return std::nullopt;
        s.joiners.tell_all();  // other joiners would wait for nothing
        throw error("eof");
      }
      std::optional<T> got(std::move(s.values.front()));
      s.values.pop_front();
      return got;
    });
  }

 private:
  std::shared_ptr<detail::rendezvous_state<T>> state_;
};

/// Events whose values go to variables when done() has ended. Left without done(), it forgets them.
/// Thread: one color.
class wait {
 public:
  wait() = default;
  wait(const wait&) = delete;
  wait& operator=(const wait&) = delete;

  template <class T>
  [[nodiscard]] from_draft::event<T> event(std::optional<T>& slot) {
    auto made = std::make_unique<one<T>>(slot);
    from_draft::event<T> e = made->home.event();
    all_.push_back(std::move(made));
    return e;
  }
  /// Waits until every event was triggered or given up.
  [[nodiscard]] task<> done() {
    for (const auto& x : all_) co_await x->finish();
    all_.clear();
  }

 private:
  struct any_one {
    any_one() = default;
    any_one(const any_one&) = delete;
    any_one& operator=(const any_one&) = delete;
    virtual ~any_one() = default;
    virtual task<> finish() = 0;
  };
  template <class T>
  struct one final : any_one {
    explicit one(std::optional<T>& to) noexcept : slot(to) {}
    task<> finish() override {
      outcome<T> got = co_await caught(home.join());
      if (got)
        slot = std::move(*got);
      else if (!(got.error() == error("eof")))
        throw got.error();
    }
    rendezvous<T> home;
    std::optional<T>& slot;
  };
  std::vector<std::unique_ptr<any_one>> all_;
};

}  // namespace heddle::from_draft
