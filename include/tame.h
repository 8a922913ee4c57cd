/* SPDX-License-Identifier: MIT
 * The header of programs that were written for the original Tame: its names, at file scope, and the
 * part of libasync's core that they use (timers, descriptors, signals, callbacks), on Heddle's
 * runtime. libasync's strings, RPC and crypto are not here. Needs heddle::tamer, and heddle::fiber
 * for functions that wait and return values.
 *
 * One difference remains: a function that waits goes on from the loop, in the order of the
 * triggers, and never inside of a trigger.
 */
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tamer/original.hh"
#include "tamer/tfork.hh"

namespace heddle::tame {

/// Calls f each time until it is replaced; see fdcb and sigcb.
void keep_calling_for_fd(int fd, bool writes, std::function<void()> f);
void keep_calling_for_signal(int signal, std::function<void()> f);

}  // namespace heddle::tame

// The loop.
/// Also with flags: async_init(tamer::several_workers).
inline void async_init(int flags = tamer::init_default) { tamer::initialize(flags); }
/// Runs until nothing is left to wait for.
inline void amain() { tamer::loop(); }

// The paper's primitive events.
inline void timer(double seconds, heddle::event<> e) { tamer::at_delay(seconds, std::move(e)); }
enum selop { selread = 0, selwrite = 1 };
inline void wait_on_fd(int fd, selop op, heddle::event<> e) {
  if (op == selread) return tamer::at_fd_read(fd, std::move(e));
  tamer::at_fd_write(fd, std::move(e));
}
inline void wait_on_signal(int signal, heddle::event<> e) {
  tamer::at_signal(signal, std::move(e));
}

// libasync's core.

/// A timer that was started and has not fired: timecb_remove() disarms it. It is freed when it
/// fires, or by the loop after it was removed: a program may cancel the rendezvous of its event
/// until then.
class timecb_t {
 public:
  template <class Callback>
  [[nodiscard]] static timecb_t* start(double seconds, Callback what) {
    auto* const timer = new timecb_t;
    run(timer, seconds, std::move(what));
    return timer;
  }

 private:
  friend void timecb_remove(timecb_t* timer);
  template <class Callback>
  static void run(timecb_t* timer, double seconds, Callback what) {
    tamer::at_delay(seconds, timer->due_.make_event());
    co_await heddle::tame::next(timer->due_);  // the end of due_ ends this function
    if (timer->removed_) co_return;
    delete timer;
    what();
    co_return;
  }
  heddle::rendezvous<> due_;
  bool removed_ = false;
};
inline void timecb_remove(timecb_t* timer) {
  timer->removed_ = true;
  tamer::at_asap(heddle::function_event<>([kept = std::shared_ptr<timecb_t>(timer)] {}));
}

namespace heddle::tame {

/// The result of delaycb(). It starts the timer at the end of the statement. If the statement takes
/// a timecb_t* from it, it starts a timer that can be removed.
template <class Callback>
class delayed_call {
 public:
  delayed_call(double seconds, Callback what) : seconds_(seconds), what_(std::move(what)) {}
  delayed_call(const delayed_call&) = delete;
  delayed_call& operator=(const delayed_call&) = delete;
  operator timecb_t*() {
    taken_ = true;
    return timecb_t::start(seconds_, std::move(what_));
  }
  ~delayed_call() noexcept(false) {
    if (taken_) return;
    if constexpr (std::is_convertible_v<Callback, heddle::event<>>) {
      tamer::at_delay(seconds_, std::move(what_));
    } else {
      tamer::at_delay(seconds_, heddle::function_event<>(std::move(what_)));
    }
  }

 private:
  double seconds_;
  Callback what_;
  bool taken_ = false;
};

}  // namespace heddle::tame

/// Calls or fires `what` once after the delay: an event or a function. The result can be stored as
/// a timecb_t*.
template <class Callback>
heddle::tame::delayed_call<Callback> delaycb(time_t seconds, long nanoseconds, Callback what) {
  return {static_cast<double>(seconds) + static_cast<double>(nanoseconds) * 1e-9, std::move(what)};
}
template <class Callback>
heddle::tame::delayed_call<Callback> delaycb(time_t seconds, Callback what) {
  return ::delaycb(seconds, 0, std::move(what));
}
/// An event fires once; a function is called each time, until it is replaced or null (NULL is an
/// integer).
template <class Callback>
void fdcb(int fd, selop op, Callback what) {
  if constexpr (std::is_null_pointer_v<Callback> || std::is_integral_v<Callback>) {
    heddle::tame::keep_calling_for_fd(fd, op == selwrite, nullptr);
  } else if constexpr (std::is_convertible_v<Callback, heddle::event<>>) {
    ::wait_on_fd(fd, op, std::move(what));
  } else {
    heddle::tame::keep_calling_for_fd(fd, op == selwrite, std::function<void()>(std::move(what)));
  }
}
template <class Callback>
void sigcb(int signal, Callback what) {
  if constexpr (std::is_null_pointer_v<Callback> || std::is_integral_v<Callback>) {
    heddle::tame::keep_calling_for_signal(signal, nullptr);
  } else if constexpr (std::is_convertible_v<Callback, heddle::event<>>) {
    ::wait_on_signal(signal, std::move(what));
  } else {
    heddle::tame::keep_calling_for_signal(signal, std::function<void()>(std::move(what)));
  }
}

/// f with its first arguments, which are kept.
template <class F, class... Kept>
  requires(!std::is_member_function_pointer_v<
           std::tuple_element_t<0, std::tuple<std::decay_t<Kept>..., int>>>)
[[nodiscard]] auto wrap(F f, Kept... kept) {
  return heddle::tame::wrapped<F, Kept...>(std::move(f), std::move(kept)...);
}
/// A member function of an object, which a pointer of any kind names.
template <class Object, class Method, class... Kept>
  requires std::is_member_function_pointer_v<Method>
[[nodiscard]] auto wrap(Object object, Method method, Kept... kept) {
  return heddle::tame::wrapped<Method, Object, Kept...>(method, std::move(object),
                                                        std::move(kept)...);
}

namespace heddle::tame {

/// A function whose calls run in a color, for cwrap().
template <class F>
struct colored {
  template <class... Args>
    requires std::invocable<F&, std::decay_t<Args>...>
  void operator()(Args&&... args) const {
    tamer::in_color(where, function, std::forward<Args>(args)...);
  }
  F function;
  tamer::color where;
};

}  // namespace heddle::tame

/// As wrap(); each call runs later, in this color, with copies of the arguments (Dabek and others,
/// 2002, section 4).
template <class F, class... Kept>
  requires(!std::is_member_function_pointer_v<F>)
[[nodiscard]] auto cwrap(F f, tamer::color c, Kept... kept) {
  return ::wrap(heddle::tame::colored<F>{std::move(f), c}, std::move(kept)...);
}
template <class Object, class Method, class... Kept>
  requires std::is_member_function_pointer_v<Method>
[[nodiscard]] auto cwrap(Object object, Method method, tamer::color c, Kept... kept) {
  return ::wrap(heddle::tame::colored<Method>{method, c}, std::move(object), std::move(kept)...);
}
