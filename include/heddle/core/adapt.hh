// SPDX-License-Identifier: MIT
// Events made of events: an adapter forwards to another event and changes the values on the way.
//
//   bind(e, v)      an event without values that fires e with v
//   map<T>(e, f)    an event of T that fires e with f(value)
//   rebind<T>(e)    an event of any type that fires e and discards the values
//
// When e ends by itself, its adapters become empty; dropping an adapter drops e. An
// adapter of an empty event is empty. e.unblocker() is a member of every event.
#pragma once

#include <functional>
#include <memory>
#include <tuple>
#include <utility>

#include "heddle/core/event.hh"

namespace heddle {

namespace detail {

/// The home of an adapted event, in a cell of its own, which is freed when either event ends. Pass
/// forwards to the target: pass(target, values...) and pass.unblock(target).
template <class Target, class Pass, class... Ts>
class relay final : public event_sink<Ts...>, event_notifier {
 public:
  [[nodiscard]] static event<Ts...> make(Target target, Pass pass) {
    if (!target) return {};
    worker& w = worker::here();
    auto* self = new (w.memory.allocate(sizeof(relay))) relay(std::move(target), std::move(pass));
    event_record& made = *self->target_.record();
    self->record_ = &event_record::make(w, *self, sizeof...(Ts), 0, made.made);
    self->record_->flags |= event_record::sink;
    add_notifier(made, *self);
    return event<Ts...>(self->record_);
  }

  void receive(event_record&, worker& w, Ts... values) noexcept override {
    take(w, [kept = std::tuple<Ts...>(std::move(values)...)](Target& target, Pass& pass) mutable {
      std::apply([&](Ts&... v) { pass(target, std::move(v)...); }, kept);
    });
  }
  void fired(event_record&, worker& w) noexcept override {
    take(w, [](Target& target, Pass& pass) { pass.unblock(target); });
  }
  void dropped(event_record&, worker& w) noexcept override {
    take(w, [](Target&, Pass&) {});  // dropping the target reports it, if that was its last handle
  }

 private:
  relay(Target target, Pass pass) noexcept
      : event_notifier(&target_ended), target_(std::move(target)), pass_(std::move(pass)) {}

  static void target_ended(event_notifier& n, worker& w) noexcept {
    auto& self = static_cast<relay&>(n);
    event_record& record = *self.record_;
    const Target keep = std::move(self.target_);  // dropped after this relay is freed
    destroy(self, w);
    cancel_event(record, w);
  }
  template <class F>
  void take(worker& w, F use) noexcept {
    remove_notifier(*target_.record(), *this);
    auto call = [target = std::move(target_), pass = std::move(pass_),
                 use = std::move(use)](worker&) mutable { use(target, pass); };
    destroy(*this, w);
    nest(w, std::move(call));
  }
  static void destroy(relay& self, worker& w) noexcept {
    std::destroy_at(&self);
    w.memory.release(&self, sizeof(relay));
  }

  event_record* record_ = nullptr;
  Target target_;
  [[no_unique_address]] Pass pass_;
};

template <class... Vs>
struct pass_bound {
  explicit pass_bound(Vs... vs) : values(std::move(vs)...) {}
  template <class Target>
  void operator()(Target& target) {
    std::apply([&](Vs&... vs) { target.trigger(std::move(vs)...); }, values);
  }
  template <class Target>
  void unblock(Target& target) {
    (*this)(target);  // unblocking a bound event fires it
  }
  std::tuple<Vs...> values;
};

template <class F>
struct pass_mapped {
  explicit pass_mapped(F f) : function(std::move(f)) {}
  template <class Target, class... Vs>
  void operator()(Target& target, Vs... vs) {
    if constexpr (std::is_void_v<std::invoke_result_t<F&, Vs...>>) {
      call(vs...);
      target.trigger();
    } else {
      target.trigger(call(vs...));
    }
  }
  template <class Target>
  void unblock(Target& target) {
    target.unblock();
  }
  template <class... Vs>
  decltype(auto) call(Vs&... vs) {
    const nest_afresh programmers(worker::running());
    return std::invoke(function, std::move(vs)...);
  }
  F function;
};

struct pass_nothing {
  template <class Target, class... Vs>
  void operator()(Target& target, Vs&&...) {
    target.trigger();
  }
  template <class Target>
  void unblock(Target& target) {
    target.unblock();
  }
};

}  // namespace detail

/// An event that fires e with these values, which it keeps until then. Unblocking it fires e too.
template <class... Ts, class... Vs>
  requires(sizeof...(Ts) == sizeof...(Vs) && (std::constructible_from<Ts, Vs &&> && ...))
[[nodiscard]] event<> bind(event<Ts...> e, Vs&&... values) {
  using pass = detail::pass_bound<Ts...>;
  return detail::relay<event<Ts...>, pass>::make(std::move(e),
                                                 pass(Ts(std::forward<Vs>(values))...));
}

/// An event that fires e with f(value). Unblocking it unblocks e, and f is not called. f must not
/// throw.
template <class... From, class... Ts, class F>
  requires std::invocable<F&, From...>
[[nodiscard]] event<From...> map(event<Ts...> e, F f) {
  using pass = detail::pass_mapped<F>;
  return detail::relay<event<Ts...>, pass, From...>::make(std::move(e), pass(std::move(f)));
}

/// An event that fires e and discards its own values.
template <class... From>
[[nodiscard]] event<From...> rebind(event<> e) {
  return detail::relay<event<>, detail::pass_nothing, From...>::make(std::move(e), {});
}

}  // namespace heddle
