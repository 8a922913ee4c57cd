// SPDX-License-Identifier: MIT
// event<Ts...>: something that happens once and carries values. A function that answers later takes
// one and triggers it; a function that waits makes one and names the variables that the values go
// to.
//
//   void resolve(std::string name, event<address> done);   // calls done(a) when it knows
//   twait { resolve("a.example", mkevent(a)); resolve("b.example", mkevent(b)); }
//   connect(a, b);                                         // both are known here
//
// The handle is one pointer; copies name one occurrence. Triggering stores the values, and tells
// the event's home: a rendezvous, a twait block, a combination or a callback. The waiting function
// runs later, from the worker's queue, never inside trigger() (Krohn and others, 2007, section 3).
#pragma once

#include <concepts>
#include <cstddef>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

#include "heddle/base/error.hh"
#include "heddle/core/detail/event_record.hh"
#include "heddle/core/detail/message.hh"
#include "heddle/core/detail/mistakes.hh"
#include "heddle/core/detail/nesting.hh"
#include "heddle/core/worker.hh"

namespace heddle {

template <class... Ts>
class event;

/// Thread: the color that made it. Handles may be passed to other colors: there trigger(),
/// unblock() and at_trigger() travel as messages, which take effect in the event's color in the
/// order of the calls, and an event always seems to be expected.
/// Resumes: the waiter later, in the order in which functions became unblocked.
/// Owns: copies share one occurrence; a slot belongs to the function that named it, and is cut off
///   when that function's frame ends.
/// Cancel: when its home ends, the event is empty and a trigger does nothing.
/// Fails: dropping the last handle of an expected event is reported (abandoned-event), and fires it
///   without values.
template <class... Ts>
class event : public detail::event_handle {
 public:
  using detail::event_handle::event_handle;

  /// Whether the event is still expected.
  [[nodiscard]] explicit operator bool() const noexcept {
    return record_ != nullptr && (is_afar() || record_->expected());
  }
  [[nodiscard]] bool empty() const noexcept { return !*this; }

  /// Stores the values in the slots, and wakes the waiter. Does nothing when the event is empty.
  /// Up to two values here, so that the line is known; trigger_at takes any number.
  void trigger(std::source_location where = std::source_location::current()) const
    requires(sizeof...(Ts) == 0)
  {
    trigger_at(where);
  }
  template <class U>
    requires(sizeof...(Ts) == 1 && (std::constructible_from<Ts, U &&> && ...))
  void trigger(U&& value, std::source_location where = std::source_location::current()) const {
    trigger_at(where, std::forward<U>(value));
  }
  template <class U, class V>
    requires(sizeof...(Ts) == 2 && std::constructible_from<std::tuple<Ts...>, U &&, V &&>)
  void trigger(U&& first, V&& second,
               std::source_location where = std::source_location::current()) const {
    trigger_at(where, std::forward<U>(first), std::forward<V>(second));
  }
  template <class... Us>
    requires(sizeof...(Ts) > 2 && sizeof...(Us) == sizeof...(Ts) &&
             (std::constructible_from<Ts, Us &&> && ...))
  void trigger(Us&&... values) const {
    trigger_at(std::source_location(), std::forward<Us>(values)...);
  }
  template <class... Us>
    requires(sizeof...(Us) == sizeof...(Ts) && (std::constructible_from<Ts, Us &&> && ...))
  void trigger_at(std::source_location where, Us&&... values) const {
    event_record* const record = record_;
    if (record == nullptr) return;
    worker& w = worker::here();
    // In the usual case nothing follows the call of fired(), so that it compiles to a jump. Another
    // color may read nothing of the record but its color.
    if constexpr (plain_values<Us...>) {
      if (event_home* const home = record->color == w.color ? record->home : nullptr;
          home != nullptr && record->flags == 0 && record->notifiers == nullptr) [[likely]] {
        record->home = nullptr;
        record->flags = event_record::has_fired;
        store(std::index_sequence_for<Ts...>(), std::forward<Us>(values)...);
        home->fired(*record, w);
        return;
      }
    }
    trigger_slow(*record, w, site_of(where), std::forward<Us>(values)...);
  }
  /// Refuses other values than the event carries; the compiler shows these lines.
  template <class... Us>
    requires(!detail::carries<std::tuple<Ts...>, Us...>)
  void trigger(Us&&...) const = delete;  // give values for what event<...> names, and no others
  template <class... Us>
    requires(!detail::carries<std::tuple<Ts...>, Us...>)
  void operator()(Us&&...) const = delete;  // give values for what event<...> names, and no others
  void operator()(std::source_location where = std::source_location::current()) const
    requires(sizeof...(Ts) == 0)
  {
    trigger_at(where);
  }
  template <class U>
    requires(sizeof...(Ts) == 1 && (std::constructible_from<Ts, U &&> && ...))
  void operator()(U&& value, std::source_location where = std::source_location::current()) const {
    trigger_at(where, std::forward<U>(value));
  }
  template <class U, class V>
    requires(sizeof...(Ts) == 2 && std::constructible_from<std::tuple<Ts...>, U &&, V &&>)
  void operator()(U&& first, V&& second,
                  std::source_location where = std::source_location::current()) const {
    trigger_at(where, std::forward<U>(first), std::forward<V>(second));
  }
  template <class... Us>
    requires(sizeof...(Ts) > 2 && sizeof...(Us) == sizeof...(Ts) &&
             (std::constructible_from<Ts, Us &&> && ...))
  void operator()(Us&&... values) const {
    trigger(std::forward<Us>(values)...);
  }

  /// Fires the event without touching the slots.
  void unblock() const {
    if (record_ == nullptr) return;
    worker& w = worker::here();
    if (record_->color != w.color) [[unlikely]] {
      send_message(w, record_->color, [target = *this] { target.unblock(); });
      return;
    }
    event_home* const home = std::exchange(record_->home, nullptr);
    if (home != nullptr) detail::finish_event(*record_, w, *home);
  }
  /// An event without values on the same occurrence: firing either empties both.
  [[nodiscard]] event<> unblocker() const noexcept { return event<>(record_); }

  /// The event's values as one type; tuple_trigger() triggers with the members of a tuple.
  using values = std::tuple<Ts...>;
  void tuple_trigger(values all,
                     std::source_location where = std::source_location::current()) const {
    std::apply([&](Ts&... v) { trigger_at(where, std::move(v)...); }, all);
  }
  /// The variable that value I goes to, so that a function can fill it in place before it calls
  /// unblock(). Null if the event is empty, if the variable's function has ended, or if the values
  /// go to an adapter and not to variables.
  template <std::size_t I = 0>
  [[nodiscard]] std::tuple_element_t<I, values>* result_pointer() const noexcept {
    if (record_ == nullptr || is_afar() || !record_->expected() ||
        (record_->flags & event_record::sink) != 0)
      return nullptr;
    return static_cast<std::tuple_element_t<I, values>*>(record_->slots()[I]);
  }
  template <std::size_t I = 0>
  [[nodiscard]] bool has_result() const noexcept {
    return result_pointer<I>() != nullptr;
  }
  template <std::size_t I = 0>
  [[nodiscard]] std::tuple_element_t<I, values>& result() const {
    HEDDLE_ASSERT(has_result<I>(),
                  "event::result() of an event without a variable: ask has_result()");
    return *result_pointer<I>();
  }

  /// `n` fires after this event's waiter has been notified, however this event ends. If this event
  /// is empty, n fires at once; an empty n is ignored. Several fire in the order of registration.
  void at_trigger(event<> n) const;

 private:
  /// Values whose assignment runs none of the programmer's code.
  template <class... Us>
  static constexpr bool plain_values =
      ((std::is_trivially_copyable_v<Ts> && std::is_same_v<Ts, std::remove_cvref_t<Us>>) && ...);

  /// Triggers the event in all cases, not only in the usual one.
  template <class... Us>
  [[gnu::noinline]] void trigger_slow(event_record& of, worker& w, site where,
                                      Us&&... values) const {
    event_record* const record = &of;
    if (record->color != w.color) [[unlikely]] {
      trigger_afar(w, where, Ts(std::forward<Us>(values))...);
      return;
    }
    event_home* const home = record->home;
    if (home == nullptr) [[unlikely]] {
      detail::triggered_again(*record, w, where);
      return;
    }
    if (record->flags & event_record::sink) [[unlikely]] {
      if constexpr (sizeof...(Ts) == 0) {
        if (record->slot_count != 0) return unblock();  // an unblocker: its sink takes values
      }
      record->home = nullptr;
      record->flags |= event_record::has_fired;
      static_cast<event_sink<Ts...>*>(home)->receive(*record, w, Ts(std::forward<Us>(values))...);
      if (record->notifiers != nullptr) detail::run_notifiers(*record, w);
      return;
    }
    record->home = nullptr;  // before the values: an assignment may trigger again
    if constexpr (sizeof...(Ts) > 0) {
      finisher finish{*record, w, *home};
      store(std::index_sequence_for<Ts...>(), std::forward<Us>(values)...);
    } else {
      detail::finish_event(*record, w, *home);
    }
  }
  /// Whether another color than the event's is running.
  [[nodiscard]] bool is_afar() const noexcept {
    const worker* const w = worker::current();
    return w != nullptr && w->color != record_->color;
  }
  [[gnu::cold, gnu::noinline]] void trigger_afar(worker& w, site where, Ts&&... values) const {
    send_message(w, record_->color,
                 [target = *this, where, kept = std::tuple<Ts...>(std::move(values)...)]() mutable {
                   std::apply([&](Ts&... v) { target.trigger_here(where, std::move(v)...); }, kept);
                 });
  }
  /// Does the rest of a trigger that came from another color.
  void trigger_here(site where, Ts&&... values) const {
    trigger_slow(*record_, worker::running(), where, std::move(values)...);
  }
  struct finisher {  // so that the event ends even when an assignment throws
    event_record& record;
    worker& w;
    event_home& home;
    ~finisher() {
      // An assignment may have ended the home: it then unlinked the record. Homes that only store
      // never link it; their cleanup is done here.
      if (record.linked()) [[likely]] {
        detail::finish_event(record, w, home);
      } else {
        detail::end_unlinked(record, w);
      }
    }
  };
  template <std::size_t... I, class... Us>
  void store(std::index_sequence<I...>, Us&&... values) const {
    void** const slots = record_->slots();
    ((slots[I] != nullptr
          ? void(*static_cast<std::remove_const_t<Ts>*>(slots[I]) = std::forward<Us>(values))
          : void()),
     ...);
  }
};

namespace detail {

/// Adds a notifier that fires n when the watched event ends.
void notify_event(event_record* watched, event<> n);

}  // namespace detail

template <class... Ts>
void event<Ts...>::at_trigger(event<> n) const {
  if (!n) return;
  if (record_ != nullptr && is_afar()) [[unlikely]] {
    send_message(worker::here(), record_->color,
                 [target = *this, n = std::move(n)]() mutable { target.at_trigger(std::move(n)); });
    return;
  }
  if (!*this) {
    n.trigger();
    return;
  }
  detail::notify_event(record_, std::move(n));
}

}  // namespace heddle
