// SPDX-License-Identifier: MIT
// rendezvous<Ids...>: a set of expected events, each with an id that the programmer chose. Waiting
// takes one event that has happened, in the order of the triggers, and gives its id.
//
//   rendezvous<bool> r;
//   timer(10s, r.make_event(false));
//   resolve(name, r.make_event(true, address));
//   if (!co_await r) give_up();            // the loser becomes empty when r ends
#pragma once

#include <memory>
#include <source_location>
#include <tuple>

#include "heddle/core/detail/late_drop.hh"
#include "heddle/core/event.hh"
#include "heddle/core/promise.hh"

namespace heddle {

/// Whether dropping the last handle of an event that is still expected is reported as a mistake. It
/// fires the event in both cases.
enum class drops : bool { reported, unreported };

namespace detail {

/// The common base of rendezvous and twait blocks: the expected events, and one waiting frame.
class event_set : public event_home {
 public:
  event_set(const event_set&) = delete;
  event_set& operator=(const event_set&) = delete;

  /// Whether events are still expected.
  [[nodiscard]] bool has_waiting() const noexcept { return !expected_.empty(); }
  [[nodiscard]] site waits_at() const noexcept override;
  [[nodiscard]] const open_list<event_record>& expected() const noexcept { return expected_; }
  /// Whether a function waits here for every event that is expected, and not for any one.
  [[nodiscard]] virtual bool needs_all() const noexcept = 0;

  void dropped(event_record& record, worker& w) noexcept override;

  /// A function that is suspended here.
  struct waiter : wait {
    waiter(event_set& s, link l, worker& w) noexcept : wait(kind, l, w), set(&s) {}
    waiter(const waiter&) = delete;
    ~waiter() {
      if (woken != no_link) [[unlikely]] {
        unqueue();
      } else if (set != nullptr) {
        set->waiter_ = nullptr;
      }
    }
    static const wait_kind kind;

    void unqueue() noexcept;
    /// Queues its frame, which learns that the wait was cancelled.
    void wake_canceled(worker& w) noexcept {
      given = canceled_mark();
      woken = frame;
      wake(*this, w);
    }
    [[nodiscard]] bool canceled() const noexcept { return given == canceled_mark(); }
    [[nodiscard]] static event_record* canceled_mark() noexcept {
      return reinterpret_cast<event_record*>(std::uintptr_t{1});
    }

    union {
      event_set* set;  ///< before the wake; null if the set has ended
      /// After the wake: the event that woke the function, if it waits for one, or canceled_mark().
      /// A separate flag would make each waiting frame larger.
      event_record* given;
    };
    link woken = no_link;  ///< the frame that the wake queued
  };

  /// Room for a waiter, which is made only when a function really suspends: most waits find their
  /// event ready.
  class waiter_room {
   public:
    waiter_room() noexcept {}
    waiter_room(const waiter_room&) = delete;
    ~waiter_room() {}  // see end()
    waiter_room& operator=(const waiter_room&) = delete;
    /// For the owner's destructor: whether the function is destroyed while it waits, or after its
    /// wake and before it ran. The destructor then calls end().
    [[nodiscard]] bool holds_waiter() const noexcept { return holds_ == content::waiter; }
    /// Gives the event that the function was woken with and has not taken, if any.
    event_record* end() noexcept {
      event_record* const untaken =
          waiter_.woken == no_link || waiter_.canceled() ? nullptr : waiter_.given;
      std::destroy_at(&waiter_);
      return untaken;
    }
    /// Suspends the function; false if the context is cancelled.
    [[nodiscard, gnu::always_inline]] bool suspend(event_set& on, link l, worker& w) {
      if (on.waiter_ != nullptr || w.current_context().canceled()) [[unlikely]]
        return refuse(on, l, w);
      holds_ = content::waiter;
      on.waiter_ = std::construct_at(&waiter_, on, l, w);
      return true;
    }
    /// The frame that the wake queued, or no_link before the wake. Valid until resumed() or end().
    [[nodiscard]] link woken_frame() const noexcept { return waiter_.woken; }
    /// See wait::ask_to_end().
    void ask_to_end(worker& w) noexcept {
      if (holds_ == content::waiter) waiter_.ask_to_end(w);
    }
    /// Called when the function goes on, with or without a suspension. Throws if the wait was
    /// cancelled. Gives the event that the function was woken with, if any.
    event_record* resumed() {
      if (holds_ == content::nothing) [[likely]]
        return nullptr;
      const bool canceled = holds_ == content::refusal || waiter_.canceled();
      holds_ = content::nothing;  // the waker has unlinked it: there is nothing to destroy
      if (canceled) [[unlikely]]
        throw_failure(canceled_error());
      return waiter_.given;
    }

   private:
    [[nodiscard, gnu::cold, gnu::noinline]] bool refuse(event_set& on, link l, worker& w);
    enum class content : std::uint8_t { nothing, waiter, refusal };
    union {
      waiter waiter_;
    };
    content holds_ = content::nothing;
  };

 protected:
  explicit event_set(site made, drops d = drops::reported) noexcept
      : made_(made), unreported_drops_(d == drops::unreported) {}
  ~event_set() = default;

  /// Does the last step of a concrete set's destructor: empties expected events, ends the waiter.
  void end_set(worker& w) noexcept;
  void cancel_expected(worker& w) noexcept;
  /// Lets go of a waiting function that never goes on, because its runtime has ended.
  void forget_waiter() noexcept {
    if (waiter_ != nullptr) std::exchange(waiter_, nullptr)->set = nullptr;
  }
  /// Wakes the function that waits here. It keeps the event from now on, even if the set ends or
  /// another function takes events before it runs.
  void wake_waiter(worker& w, event_record* given) noexcept {
    waiter& x = *waiter_;
    waiter_ = nullptr;
    x.given = given;
    x.woken = x.frame;
    wake(x, w);
  }
  [[nodiscard]] const void* address() const noexcept { return this; }

  /// For a set without a waiting function: the event's last handle went away. This is reported as a
  /// mistake only if a function begins to wait.
  void forsake(event_record& record) noexcept;

  open_list<event_record> expected_;
  waiter* waiter_ = nullptr;  ///< or forsaken()
  site made_;
  bool unreported_drops_;

 private:
  friend struct waiter;
  /// A marker in place of a waiter after an event was forsaken; the next wait then calls refuse().
  [[nodiscard]] static waiter* forsaken() noexcept;
  void report_forsaken(site waits, worker& w) noexcept;
  [[noreturn, gnu::cold, gnu::noinline]] void refuse_second(link l, worker& w);
};

template <class... Ids>
struct id_of {
  using type = std::tuple<Ids...>;
};
template <class Id>
struct id_of<Id> {
  using type = Id;
};
template <>
struct id_of<> {
  using type = void;
};

}  // namespace detail

/// Thread: one color.
/// Resumes: the waiter later, from the queue. One function waits at a time; a second is a reported
///   mistake and gets std::logic_error. Once an event wakes the waiter, no other function can take
///   the event; if the waiter is ended before it runs, the event is lost.
/// Owns: nothing that outlives it. When it ends, its events become empty, and a function that waits
///   on it ends (tamed) or sees operation_canceled (task).
template <class... Ids>
class rendezvous final : public detail::event_set {
 public:
  using id_type = typename detail::id_of<Ids...>::type;
  static_assert((std::is_nothrow_move_constructible_v<Ids> && ...),
                "an id moves into a record that is expected already");

  explicit rendezvous(std::source_location where = std::source_location::current()) noexcept
      : event_set(site_of(where)) {}
  explicit rendezvous(drops d,
                      std::source_location where = std::source_location::current()) noexcept
      : event_set(site_of(where), d) {}
  ~rendezvous() { end(); }

  /// An event with this id that stores its values in these slots. Up to four slots here, so that
  /// the line is known; make_event_at takes any number.
  [[nodiscard]] event<> make_event(Ids... ids,
                                   std::source_location where = std::source_location::current()) {
    return make_event_at(where, std::move(ids)...);
  }
  template <class A>
  [[nodiscard]] event<A> make_event(Ids... ids, A& a,
                                    std::source_location where = std::source_location::current()) {
    return make_event_at(where, std::move(ids)..., a);
  }
  template <class A, class B>
  [[nodiscard]] event<A, B> make_event(
      Ids... ids, A& a, B& b, std::source_location where = std::source_location::current()) {
    return make_event_at(where, std::move(ids)..., a, b);
  }
  template <class A, class B, class C>
  [[nodiscard]] event<A, B, C> make_event(
      Ids... ids, A& a, B& b, C& c, std::source_location where = std::source_location::current()) {
    return make_event_at(where, std::move(ids)..., a, b, c);
  }
  template <class A, class B, class C, class D>
  [[nodiscard]] event<A, B, C, D> make_event(
      Ids... ids, A& a, B& b, C& c, D& d,
      std::source_location where = std::source_location::current()) {
    return make_event_at(where, std::move(ids)..., a, b, c, d);
  }
  /// Refuses other ids or slots with a compiler's error of one sentence.
  template <class... As>
    requires(!detail::names_event<std::tuple<Ids...>, As...>)
  [[nodiscard]] event<> make_event(As&&...) {
    detail::explain_event<std::tuple<Ids...>, As...>();
    return {};
  }
  template <class... Slots>
  [[nodiscard]] event<Slots...> make_event_at(std::source_location where, Ids... ids,
                                              Slots&... slots) {
    worker& w = worker::here();
    event_record& record = detail::make_event_record(w, *this, address(), id_bytes, site_of(where),
                                                     &expected_, slots...);
    if constexpr (id_bytes > 0) std::construct_at(id(record), std::move(ids)...);
    return event<Slots...>(&record);
  }

  /// An event with this id and the slots of `like`, which must be expected here. A slot whose frame
  /// has ended stays cut off.
  template <class... Slots>
  [[nodiscard]] event<Slots...> make_event_like(const event<Slots...>& like, Ids... ids) {
    event_record& record = detail::make_event_record_like(worker::here(), *like.record(), *this,
                                                          address(), id_bytes, &expected_);
    if constexpr (id_bytes > 0) std::construct_at(id(record), std::move(ids)...);
    return event<Slots...>(&record);
  }

  /// Whether an event has happened and has not been taken yet.
  [[nodiscard]] bool has_ready() const noexcept { return !ready_.empty(); }
  [[nodiscard]] bool has_events() const noexcept { return has_ready() || has_waiting(); }

  /// Takes one event that has happened; if there is none, returns false and leaves `ids` as
  /// they are.
  [[nodiscard]] bool join(Ids&... ids) {
    if (!has_ready()) return false;
    std::tie(ids...) = take(ready_.take_out_front());
    return true;
  }

  /// Makes the expected events empty, and drops the events that have happened.
  void clear() {
    worker& w = worker::running();
    cancel_expected(w);
    forget_ready(w);
  }

  /// Empties one event that is expected here, without a message.
  template <class... Ts>
  void cancel(const event<Ts...>& e) {
    if (!e || e.record()->home != this) return;
    std::destroy_at(id(*e.record()));
    expected_.remove(*e.record());
    detail::cancel_event(*e.record(), worker::running());
  }

  class awaiter {
   public:
    explicit awaiter(rendezvous& r) noexcept : home_(r) {}
    [[nodiscard]] bool await_ready() const noexcept { return home_.has_ready(); }
    template <frame_promise P>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) {
      return room_.suspend(home_, link_of(h), worker::running());
    }
    void ask_to_end(worker& w) noexcept { room_.ask_to_end(w); }
    [[gnu::always_inline]] id_type await_resume() {
      event_record* const given = room_.resumed();
      stored_id ids = take(given != nullptr ? *given : home_.ready_.take_out_front());
      if constexpr (sizeof...(Ids) == 1) {
        return std::get<0>(std::move(ids));
      } else if constexpr (sizeof...(Ids) > 1) {
        return ids;
      }
    }
    awaiter(const awaiter&) = delete;
    ~awaiter() {
      if (room_.holds_waiter()) [[unlikely]]
        leave();
    }

   private:
    [[gnu::noinline]] void leave() noexcept {
      if (event_record* const untaken = room_.end()) forget(*untaken, worker::running());
    }

    rendezvous& home_;
    detail::event_set::waiter_room room_;
  };
  /// Waits for one event and gives its id.
  [[nodiscard]] awaiter operator co_await() noexcept { return awaiter(*this); }

  [[nodiscard]] bool needs_all() const noexcept override { return false; }
  void fired(event_record& record, worker& w) noexcept override {
    if (waiter_ == nullptr) {
      ready_.move_back(record, expected_);
    } else {
      expected_.take_out(record);
      wake_waiter(w, &record);
    }
  }

 private:
  using stored_id = std::tuple<Ids...>;
  static constexpr std::size_t id_bytes = sizeof...(Ids) == 0 ? 0 : sizeof(stored_id);

  [[nodiscard]] static stored_id* id(event_record& record) noexcept {
    return static_cast<stored_id*>(record.id_space());
  }
  /// Takes an event that is in no list any more.
  [[nodiscard]] static stored_id take(event_record& record) {
    stored_id ids = std::move(*id(record));
    forget(record, worker::running());
    return ids;
  }
  static void forget(event_record& record, worker& w) noexcept {
    std::destroy_at(id(record));
    detail::release_taken_out(record, w);
  }
  void forget_ready(worker& w) noexcept {
    while (has_ready()) forget(ready_.take_out_front(), w);
  }
  void cancel_expected(worker& w) noexcept {
    while (event_record* const record = expected_.pop_front()) {
      std::destroy_at(id(*record));
      detail::cancel_event(*record, w);
    }
  }
  void end() noexcept {
    if (!has_events() && waiter_ == nullptr) return;
    if (worker::current() == nullptr) [[unlikely]] {
      const detail::late_drop no_runtime;
      forget_waiter();
      return end();
    }
    worker& w = worker::running();
    report_leftovers(w);
    cancel_expected(w);
    forget_ready(w);
    end_set(w);
  }
  void report_leftovers(worker& w) noexcept {
    if (!has_waiting() || !w.reports(diagnostic_kind::leftover_events)) return;
    w.sched.report({diagnostic_kind::leftover_events,
                    expected_.front().made,
                    made_,
                    expected_.size(),
                    {},
                    {}});
  }

  open_list<event_record> ready_;
};

}  // namespace heddle
