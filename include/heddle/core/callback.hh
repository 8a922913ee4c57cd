// SPDX-License-Identifier: MIT
// Events that call, and events as callbacks: so that any interface with callbacks can be awaited,
// and any that takes events can be given a function.
//
//   function_event<int>(f)         an event that calls f(value) once, when it is triggered
//   push_back_event(container)     appends the value
//   output_event(iterator)         writes it and advances the iterator
//   as_function(e)                 a std::move_only_function that triggers e
//   c_callback(e)                  a pointer for C: hand over .context and a call of .fire
#pragma once

#include <functional>
#include <iterator>
#include <memory>
#include <source_location>
#include <utility>

#include "heddle/core/detail/late_drop.hh"
#include "heddle/core/event.hh"

namespace heddle {

namespace detail {

/// The home of an event that calls a function; lies in a cell of its own.
template <class F, class... Ts>
class caller final : public event_sink<Ts...> {
 public:
  [[nodiscard]] static event<Ts...> make(F f, site made) {
    worker& w = worker::here();
    auto* self = new (w.memory.allocate(sizeof(caller))) caller(std::move(f));
    event_record& record = event_record::make(w, *self, sizeof...(Ts), 0, made);
    record.flags |= event_record::sink;
    return event<Ts...>(&record);
  }
  void receive(event_record&, worker& w, Ts... values) noexcept override {
    F f = take(w);
    const nest_afresh programmers(w);
    std::invoke(f, std::move(values)...);
  }
  void fired(event_record&, worker& w) noexcept override {
    F f = take(w);
    const nest_afresh programmers(w);
    if constexpr (sizeof...(Ts) == 0) std::invoke(f);  // without values, an unblock is a trigger
  }
  void dropped(event_record& record, worker& w) noexcept override {
    static_cast<void>(take(w));
    w.sched.report({diagnostic_kind::abandoned_event, record.made, 0, 1, {}, {}});
  }

 private:
  explicit caller(F f) noexcept : function_(std::move(f)) {}
  [[nodiscard]] F take(worker& w) noexcept {
    F f = std::move(function_);
    std::destroy_at(this);
    w.memory.release(this, sizeof(caller));
    return f;
  }
  F function_;
};

}  // namespace detail

/// An event that calls f once, inside the trigger. An unblock calls f only if the event has no
/// values. f must not throw. Dropping the last handle is reported, because f is then never called.
template <class... Ts, class F>
  requires std::invocable<F&, Ts...>
[[nodiscard]] event<Ts...> function_event(
    F f, std::source_location where = std::source_location::current()) {
  return detail::caller<F, Ts...>::make(std::move(f), site_of(where));
}

/// An event that appends its value to a container, which must outlive the event. An unblock appends
/// nothing.
template <class Container>
[[nodiscard]] event<typename Container::value_type> push_back_event(
    Container& to, std::source_location where = std::source_location::current()) {
  using value = typename Container::value_type;
  return function_event<value>([&to](value v) { to.push_back(std::move(v)); }, where);
}

/// An event that writes its value to *to and advances `to`, which must outlive the event. An
/// unblock does neither.
template <class T, class Iterator>
[[nodiscard]] event<T> output_event(Iterator& to,
                                    std::source_location where = std::source_location::current()) {
  return function_event<T>(
      [&to](T v) {
        *to = std::move(v);
        ++to;
      },
      where);
}
/// As above, for an iterator whose type gives the type of the value, as a pointer does.
template <std::indirectly_readable Iterator>
[[nodiscard]] event<std::iter_value_t<Iterator>> output_event(
    Iterator& to, std::source_location where = std::source_location::current()) {
  return output_event<std::iter_value_t<Iterator>, Iterator>(to, where);
}

/// A function that triggers the event, for interfaces with callbacks. It may be called once;
/// destroying it uncalled drops its handle of the event.
template <class... Ts>
[[nodiscard]] std::move_only_function<void(Ts...)> as_function(event<Ts...> e) {
  return [e = std::move(e)](Ts... values) { e.trigger(std::move(values)...); };
}

/// An event for a C interface that takes a function and a context. The C code must call fire or
/// forget once, on the thread of the runtime; that call frees the context.
///
///   auto cb = c_callback(e);
///   legacy_lookup(name, cb.fire, cb.context);        // void (*)(void* context, int value)
template <class... Ts>
struct c_callback_of {
  void (*fire)(void* context, Ts... values);
  void (*forget)(void* context);
  void* context;
};

template <class... Ts>
[[nodiscard]] c_callback_of<Ts...> c_callback(event<Ts...> e) {
  using handle = event<Ts...>;
  worker& w = worker::here();
  auto* kept = new (w.memory.allocate(sizeof(handle))) handle(std::move(e));
  const auto take = [](void* context) noexcept -> handle {
    auto* from = static_cast<handle*>(context);
    handle h = std::move(*from);
    std::destroy_at(from);
    detail::release_cell(from, sizeof(handle));
    return h;
  };
  using take_type = decltype(take);
  return {[](void* context, Ts... values) { take_type()(context).trigger(std::move(values)...); },
          [](void* context) { static_cast<void>(take_type()(context)); }, kept};
}

}  // namespace heddle
