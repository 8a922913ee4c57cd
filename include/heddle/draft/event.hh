// SPDX-License-Identifier: MIT
// Events across colors. An event is triggered once; the rendezvous that made it collects the
// values. `wait` is Draft's block of that name: it makes events for variables and waits for all.
//
//   draft::wait both;
//   draft::spawn(look_up("a", both.event(a)));      // a is a std::optional
//   draft::spawn(look_up("b", both.event(b)));
//   co_await both.done();
#pragma once

#include <vector>

#include "heddle/draft/operation.hh"

namespace heddle::from_draft {

namespace detail {
using event_handle = shared_handle<heddle_event, heddle_event_retain, heddle_event_release>;
}  // namespace detail

/// Thread: any worker's; copies name one event. Only the first trigger counts. The end of the last
/// copy without a trigger gives the event up.
template <class T = void>
class event {
 public:
  event() noexcept = default;
  explicit event(heddle_event* made) noexcept : object_(made) {}
  void trigger(T value) const {
    if (object_.get() == nullptr) return;
    detail::parcel<T> sent(std::move(value));
    heddle_event_trigger(this_worker(), object_.get(), sent.give());
  }

 private:
  detail::event_handle object_;
};

/// event<> of Draft: the rendezvous has its id already.
template <>
class event<void> {
 public:
  event() noexcept = default;
  explicit event(heddle_event* made) noexcept : object_(made) {}
  void trigger() const { heddle_signal_trigger(this_worker(), object_.get()); }

 private:
  detail::event_handle object_;
};

/// Thread: any worker's; copies name one rendezvous.
template <class T>
class rendezvous {
  using cell = detail::cell<T>;

 public:
  rendezvous()
      : object_(detail::made<heddle_rendezvous>([](heddle_rendezvous** out) {
          return heddle_rendezvous_new(this_worker(), cell::size, cell::drop, out);
        })) {}
  /// A new event: join() gives the value that it is triggered with.
  [[nodiscard]] from_draft::event<T> event() const {
    return from_draft::event<T>(detail::made<heddle_event>([&](heddle_event** out) {
      return heddle_rendezvous_event(this_worker(), object_.get(), out);
    }));
  }
  /// A new event without a value: join() gives `id`.
  [[nodiscard]] from_draft::event<> signal(T id) const {
    detail::parcel<T> sent(std::move(id));
    return from_draft::event<>(detail::made<heddle_event>([&](heddle_event** out) {
      return heddle_rendezvous_signal(this_worker(), object_.get(), sent.give(), out);
    }));
  }
  /// The next event's value. Fails: error.eof when no event is left that could be triggered.
  [[nodiscard]] auto join() const {
    return detail::ask<heddle_rendezvous_join, T, typename cell::raw>(object_);
  }

 private:
  detail::shared_handle<heddle_rendezvous, heddle_rendezvous_retain, heddle_rendezvous_release>
      object_;
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
    const rendezvous<T> home;
    from_draft::event<T> e = home.event();
    all_.push_back(fill(home, slot));
    return e;
  }
  /// Waits until every event was triggered or given up.
  [[nodiscard]] task<> done() {
    for (task<>& each : all_) co_await std::move(each);
    all_.clear();
  }

 private:
  template <class T>
  static task<> fill(rendezvous<T> home, std::optional<T>& slot) {
    outcome<T> got = co_await caught(home.join());
    if (got)
      slot = std::move(*got);
    else if (!(got.error() == error("eof")))
      throw got.error();
  }
  std::vector<task<>> all_;  ///< not started before done()
};

}  // namespace heddle::from_draft
