// SPDX-License-Identifier: MIT
// The notation of Tame (Krohn and others, 2007), opt-in because these are macros:
//
//   twait { resolve(a, mkevent(x)); resolve(b, mkevent(y)); }   // both, in parallel
//   int v; twait { f(mkevent(v)); }                             // wait for one
//   resolve(name, mkevent(r, true, addr));                      // with an explicit rendezvous
//
// twait runs its body and then waits until every event that was made in it has happened. It is one
// statement. With no event, or when all have happened already, it does not yield. A body that is
// left early (return, break, an exception) empties the events made in it.
#pragma once

#include "heddle/core/rendezvous.hh"

namespace heddle::detail {

/// The implicit rendezvous of one twait statement; also its awaiter.
class twait_block final : public event_set {
 public:
  explicit twait_block(std::source_location where = std::source_location::current()) noexcept
      : event_set(site_of(where)) {}
  ~twait_block() {
    if (has_waiting() || room_.holds_waiter()) [[unlikely]]
      leave();
  }

  /// The condition of the for statement: true once.
  [[nodiscard]] bool open() noexcept { return std::exchange(open_, false); }

  [[nodiscard]] event<> make_event(std::source_location where = std::source_location::current()) {
    return make_event_at(where);
  }
  template <class A>
  [[nodiscard]] event<A> make_event(A& a,
                                    std::source_location where = std::source_location::current()) {
    return make_event_at(where, a);
  }
  template <class A, class B>
  [[nodiscard]] event<A, B> make_event(
      A& a, B& b, std::source_location where = std::source_location::current()) {
    return make_event_at(where, a, b);
  }
  template <class A, class B, class C>
  [[nodiscard]] event<A, B, C> make_event(
      A& a, B& b, C& c, std::source_location where = std::source_location::current()) {
    return make_event_at(where, a, b, c);
  }
  template <class A, class B, class C, class D>
  [[nodiscard]] event<A, B, C, D> make_event(
      A& a, B& b, C& c, D& d, std::source_location where = std::source_location::current()) {
    return make_event_at(where, a, b, c, d);
  }
  template <class... Slots>
  [[nodiscard]] event<Slots...> make_event_at(std::source_location where, Slots&... slots) {
    worker& w = worker::here();
    event_record& record =
        make_event_record(w, *this, address(), 0, site_of(where), &expected_, slots...);
    return event<Slots...>(&record);
  }

  [[nodiscard]] bool await_ready() const noexcept { return !has_waiting(); }
  template <frame_promise P>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) {
    return room_.suspend(*this, link_of(h), worker::running());
  }
  void ask_to_end(worker& w) noexcept { room_.ask_to_end(w); }
  void await_resume() { room_.resumed(); }

  [[nodiscard]] bool needs_all() const noexcept override { return true; }
  void fired(event_record& record, worker& w) noexcept override {
    expected_.take_out(record);
    release_taken_out(record, w);
    if (expected_.empty() && waiter_ != nullptr) wake_waiter(w, nullptr);
  }

  /// In the body, forsakes the event: a break may still leave the block, and then nothing waits.
  void dropped(event_record& record, worker& w) noexcept override {
    if (room_.holds_waiter()) {
      event_set::dropped(record, w);
    } else {
      forsake(record);
    }
  }

 private:
  void leave() noexcept;

  waiter_room room_;
  bool open_ = true;
};

/// Outside of a twait body, mkevent needs a rendezvous as its first argument.
struct no_twait_block {};

/// Whether T is a rendezvous. A class around one, as in <tame.h>, says so by a member type.
template <class T>
inline constexpr bool is_rendezvous = requires { typename T::heddle_rendezvous; };
template <class... Ids>
inline constexpr bool is_rendezvous<rendezvous<Ids...>> = true;

template <class... Slots>
  requires(!(is_rendezvous<Slots> || ...))
[[nodiscard]] auto mkevent_in(std::source_location where, twait_block& block, Slots&... slots) {
  return block.make_event_at(where, slots...);
}
template <class... Slots>
  requires(!(is_rendezvous<std::remove_cvref_t<Slots>> || ...) &&
           (!std::is_lvalue_reference_v<Slots> || ...))
[[nodiscard]] event<> mkevent_in(std::source_location, twait_block&, Slots&&...) {
  static_assert(misused<Slots...>,
                "mkevent() stores values in variables: give it variables, or nothing");
  return {};
}
template <class... Slots>
  requires(!(is_rendezvous<std::remove_cvref_t<Slots>> || ...))
[[nodiscard]] auto mkevent_in(std::source_location, const no_twait_block&, Slots&&...) {
  static_assert(misused<Slots...>,
                "mkevent() stands in the braces of twait { ... }; elsewhere name a rendezvous "
                "first: mkevent(r, id, slot)");
  return event<std::remove_cvref_t<Slots>...>();
}
template <class Block, class... Ids, class... Rest>
[[nodiscard]] auto mkevent_in(std::source_location where, Block&, rendezvous<Ids...>& r,
                              Rest&&... rest) {
  return r.make_event_at(where, std::forward<Rest>(rest)...);
}
template <class Block, class Around, class... Rest>
  requires requires { typename Around::heddle_rendezvous; }
[[nodiscard]] auto mkevent_in(std::source_location where, Block&, Around& r, Rest&&... rest) {
  return r.make_event_at(where, std::forward<Rest>(rest)...);
}

}  // namespace heddle::detail

inline constexpr heddle::detail::no_twait_block heddle_twait_block_{};

#define twait                                                                         \
  for (::heddle::detail::twait_block heddle_twait_block_; heddle_twait_block_.open(); \
       co_await heddle_twait_block_)

#define mkevent(...)                                            \
  ::heddle::detail::mkevent_in(std::source_location::current(), \
                               heddle_twait_block_ __VA_OPT__(, ) __VA_ARGS__)
