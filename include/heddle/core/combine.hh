// SPDX-License-Identifier: MIT
// Waiting for several awaitables at once: all() for every one, any() for the first. any() cancels
// the others, waits for them to end, and returns everything that finished. Locks and channels are
// asked for with one choice, so that a branch that loses takes nothing from them.
//
//   auto [a, b] = co_await all(fetch(x), fetch(y));
//   auto won = co_await any(conn.read(buf), sleep_for(5s));
//   if (won.index == 0) use(*std::get<0>(won.results));
#pragma once

#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "heddle/core/awaitable.hh"
#include "heddle/core/detail/choice.hh"
#include "heddle/core/scope.hh"

namespace heddle {

namespace detail {

/// void has no object: std::monostate takes its place in tuples.
template <class T>
using stored_t = std::conditional_t<std::is_void_v<T>, std::monostate, kept_t<T>>;

template <class A>
using outcome_t = stored_t<await_value_t<A&&>>;

struct race {
  explicit race(choice::by b = choice::by::any_end) noexcept
      : winner(b), needs_success(b == choice::by::success) {}

  choice winner;
  const bool needs_success;    ///< branches that fail are set aside
  bool ended = false;          ///< a branch has finished, and the others were asked to end
  bool has_result = false;     ///< a branch has brought a result
  std::size_t index = 0;       ///< the winner if it has one, else the first that does
  bool cut_short = false;      ///< a branch ended because it was asked to
  std::exception_ptr failure;  ///< the winner's; if needs_success, the last branch's to fail
  scope* branches = nullptr;   ///< cancelled by the first to finish; null to let all go on

  /// Notes for any() and select() that a branch has ended, with this exception or with a result.
  void note(std::size_t branch, std::exception_ptr error) noexcept;
  /// Called once all have ended: throws the race's failure if no branch has a result.
  void require_result();
  /// Throws the failure of the branch that ended first, where another one has a result too.
  void rethrow_beside_result() const {
    if (failure && !needs_success) [[unlikely]]
      std::rethrow_exception(failure);
  }
};

/// An awaitable that, in any(), commits its branch of the choice before it takes anything.
template <class A>
class [[nodiscard("co_await it")]] branch_awaiter {
 public:
  branch_awaiter(A&& a, race& r, std::size_t branch) : inner_(static_cast<A&&>(a)) {
    if constexpr (has_line<A>) at_ = a.awaited_at();
    if (r.branches != nullptr) inner_.get().join_choice(r.winner, branch);
  }
  branch_awaiter(const branch_awaiter&) = delete;

  [[nodiscard]] bool await_ready() { return inner_.get().await_ready(); }
  template <frame_promise P>
  [[nodiscard]] std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) {
    return suspend_with(inner_.get(), h);
  }
  decltype(auto) await_resume() { return inner_.get().await_resume(); }
  [[nodiscard]] site awaited_at() const noexcept
    requires has_line<A>
  {
    return at_;
  }

 private:
  own_awaiter<A> inner_;
  [[no_unique_address]] std::conditional_t<has_line<A>, site, std::monostate> at_{};
};

template <class A>
[[nodiscard]] decltype(auto) as_branch(A&& awaitable, race& r, std::size_t index) {
  if constexpr (joins_choice<std::remove_reference_t<awaiter_t<A&&>>>) {
    return branch_awaiter<A>(static_cast<A&&>(awaitable), r, index);
  } else {
    return static_cast<A&&>(awaitable);
  }
}

/// A awaits one branch; A is as deduced for A&&: an lvalue stays a reference.
template <class A>
task<> run_branch(A awaitable, std::optional<outcome_t<A>>& out, race& r, std::size_t index) {
  std::exception_ptr error;
  try {
    if constexpr (std::is_void_v<await_value_t<A&&>>) {
      co_await as_branch<A>(static_cast<A&&>(awaitable), r, index);
      out.emplace();
    } else {
      out.emplace(co_await as_branch<A>(static_cast<A&&>(awaitable), r, index));
    }
  } catch (...) {
    error = std::current_exception();
  }
  if (r.branches == nullptr) {
    if (error) std::rethrow_exception(error);
    co_return;
  }
  r.note(index, std::move(error));
}

template <class... As, std::size_t... I>
void spawn_branches(scope& s, race& r, std::tuple<std::optional<outcome_t<As>>...>& out,
                    std::index_sequence<I...>, As&&... as) {
  (s.spawn(run_branch<As>(static_cast<As&&>(as), std::get<I>(out), r, I)), ...);
}

}  // namespace detail

/// The value of any(): which branch finished first, and every result there is.
template <class... Ts>
struct any_results {
  std::size_t index = 0;  ///< the branch that won if it has a result, else the first that has one
  std::tuple<std::optional<Ts>...> results;
  /// The exception of a branch that failed before the branch at `index` finished; the latter had
  /// its result already when it was asked to end.
  std::exception_ptr failure;
};

namespace detail {

template <class... As>
task<std::tuple<outcome_t<As>...>> all_of(As... as) {
  std::tuple<std::optional<outcome_t<As>>...> out;
  race r;
  scope s;
  spawn_branches<As...>(s, r, out, std::index_sequence_for<As...>(), static_cast<As&&>(as)...);
  co_await s.completed();
  co_return std::apply([](auto&... o) { return std::tuple<outcome_t<As>...>(std::move(*o)...); },
                       out);
}

/// Gives the value of any(), or throws, once every branch has ended. A result is never dropped,
/// also when the context around was cancelled meanwhile.
template <class Results>
void finish_race(race& r, Results& out) {
  r.require_result();
  out.index = r.index;
  out.failure = std::move(r.failure);
}

template <class... As>
task<any_results<outcome_t<As>...>> any_of(As... as) {
  any_results<outcome_t<As>...> out;
  race r;
  scope s;
  r.branches = &s;
  spawn_branches<As...>(s, r, out.results, std::index_sequence_for<As...>(),
                        static_cast<As&&>(as)...);
  co_await s.settled();
  finish_race(r, out);
  co_return out;
}

}  // namespace detail

/// Awaits all awaitables at once. The first failure cancels the rest and is rethrown. A void result
/// is std::monostate in the tuple, a reference std::reference_wrapper. If the context around is
/// cancelled, all() throws operation_canceled, unless every awaitable brings its result all the
/// same: then it gives the results.
template <class... As>
[[nodiscard("co_await it")]] auto all(As&&... as) {
  (detail::check_awaitable<As>(), ...);
  if constexpr ((detail::awaitable<As> && ...))
    return detail::all_of<As...>(std::forward<As>(as)...);
}

/// Awaits the first awaitable to finish, cancels the others and waits for them to end. If the first
/// to finish failed and no other brings a result, its exception is rethrown (as_expected() inside
/// makes it a result). A branch that ends because the context around any() is cancelled has not
/// finished: any() then gives the results of the others, or throws operation_canceled if all ended
/// so.
template <class... As>
[[nodiscard("co_await it")]] auto any(As&&... as) {
  (detail::check_awaitable<As>(), ...);
  if constexpr ((detail::awaitable<As> && ...))
    return detail::any_of<As...>(std::forward<As>(as)...);
}

/// Awaits all tasks of a vector, and gives their results in its order.
template <class T>
task<std::vector<detail::kept_t<T>>> all(std::vector<task<T>> tasks) {
  std::vector<std::optional<detail::kept_t<T>>> out(tasks.size());
  detail::race r;
  scope s;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    s.spawn(detail::run_branch<task<T>>(std::move(tasks[i]), out[i], r, i));
  co_await s.completed();
  std::vector<detail::kept_t<T>> values;
  values.reserve(out.size());
  for (auto& o : out) values.push_back(std::move(*o));
  co_return values;
}
inline task<> all(std::vector<task<>> tasks) {
  scope s;
  for (auto& t : tasks) s.spawn(std::move(t));
  co_await s.completed();
}

/// The value of any() of a vector: see any_results.
template <class T>
struct any_result_of {
  std::size_t index = 0;
  std::vector<std::optional<detail::stored_t<T>>> results;
  std::exception_ptr failure;
};

/// Awaits the first task of a vector to finish. The vector must not be empty.
template <class T>
task<any_result_of<T>> any(std::vector<task<T>> tasks) {
  HEDDLE_ASSERT(!tasks.empty(), "any() needs at least one task to wait for");
  any_result_of<T> out;
  out.results.resize(tasks.size());
  detail::race r;
  scope s;
  r.branches = &s;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    s.spawn(detail::run_branch<task<T>>(std::move(tasks[i]), out.results[i], r, i));
  co_await s.settled();
  detail::finish_race(r, out);
  co_return out;
}

}  // namespace heddle
