// SPDX-License-Identifier: MIT
// A translated tamed function is a `void` function with a wait in it. It starts at the call,
// runs to its first wait before the caller goes on, and owns itself. `heddle tame` writes the
// waits; this header makes the compiler take them.
//
// Including it makes every function that returns void and waits a tamed one in that file. Ordinary
// Heddle code returns heddle::tamed instead and does not include this.
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "heddle/core/lifetime.hh"
#include "heddle/core/promise.hh"
#include "heddle/core/rendezvous.hh"
#include "heddle/core/scope.hh"

namespace heddle::tame {

class destroy_guard;
class member_promise;
struct member_link;

/// Thread: one color.
/// Owns: nothing; at its end it ends the functions that are blocked in its member functions, and
///   those that hold a destroy_guard for it. A function that runs at that moment goes on to its
///   end. A copy of the object starts without functions.
class tamed_class : public heddle::tamed_class {  // so functions that are ported end with it too
 public:
  tamed_class() noexcept = default;
  tamed_class(const tamed_class&) noexcept : heddle::tamed_class() {}
  tamed_class& operator=(const tamed_class&) noexcept { return *this; }

 protected:
  ~tamed_class() {
    if (!functions_.empty()) end_functions();
  }

 private:
  friend class destroy_guard;
  friend class member_promise;
  void end_functions() noexcept;
  mutable list<member_link> functions_;
};

/// The list entry of a frame that may end together with an object.
struct member_link : list_node {
  link frame = no_link;
};

/// Handles the exception that is being handled as one that left a function of the loop, and that
/// nothing else catches: tamer::loop() rethrows it.
void function_failed(site at) noexcept;

/// The promise of a void coroutine, at the beginning of its frame.
class promise : public heddle::detail::task_promise_base {
 public:
  promise() noexcept {
    worker& w = worker::running();
    outer_context_ = w.context_now;
    w.context_now = w.root_context;
    set_parent(owner());
  }
  promise(const promise&) = delete;
  promise& operator=(const promise&) = delete;

  void get_return_object() noexcept {}
  [[nodiscard]] static std::suspend_never initial_suspend() noexcept { return {}; }
  [[nodiscard]] std::suspend_never final_suspend() const noexcept {
    if (first_run_) {
      leave_first_run();
    } else {
      leave_root(worker::running());
    }
    return {};
  }
  void return_void() noexcept { end_of_function(); }
  /// The caller gets an exception of the first run; the loop gets later ones.
  void unhandled_exception() {
    if (first_run_) {
      leave_first_run();
      throw;
    }
    failed();
  }

  /// Takes only the waits of twait. A task or an operation of Heddle's is started with an event:
  /// twait { start(task, make_event(x)); }
  template <class Wait>
    requires requires { typename std::remove_reference_t<Wait>::tame_wait; }
  [[nodiscard]] decltype(auto) await_transform(
      Wait&& wait, std::source_location where = std::source_location::current()) noexcept {
    at = site_of(where);
    return heddle::detail::keep_in_place(static_cast<Wait&&>(wait));
  }

  /// Notes that the function waits from now on.
  void suspended() noexcept {
    waits_ = true;
    if (first_run_) first_suspension();
  }
  void resumed() noexcept { waits_ = false; }
  /// Whether the function waits, or has been woken and not resumed yet.
  [[nodiscard]] bool waits() const noexcept { return waits_; }
  /// The owner of these functions: the join that all of them report to.
  [[nodiscard]] static join& owner() noexcept;
  /// Destroys a function that waits, or has been woken and not resumed yet.
  static void destroy(link l) noexcept;
  /// Whether this frame is one of ours.
  [[nodiscard]] static bool is_ours(link l) noexcept {
    return !is_plain(l) && promise_of(l).parent() == &owner();
  }

 private:
  void leave_first_run() const noexcept {
    worker& w = worker::running();
    w.context_now = w.context_at(outer_context_);
  }
  void first_suspension() noexcept {
    first_run_ = false;
    worker& w = worker::running();
    w.root_scope->enter();
    w.context_now = w.context_at(outer_context_);
  }
  static void leave_root(worker& w) noexcept;
  void failed() noexcept;

  bool first_run_ = true;
  bool waits_ = false;
  std::uint32_t outer_context_;
};

/// The promise of member functions of a tamed_class, and of functions that take a reference to one
/// first.
class member_promise : public promise, public member_link {
 public:
  template <class Object, class... Args>
  explicit member_promise(Object& object, Args&...) noexcept {
    frame = reinterpret_cast<link>(static_cast<promise_base*>(this)) - next_offset;
    static_cast<const tamed_class&>(object).functions_.push_back(*this);
  }
};

template <class Object>
concept guarded_object = std::is_reference_v<Object> && requires(std::remove_reference_t<Object>* p,
                                                                 const tamed_class*& q) { q = p; };

template <class... Args>
struct promise_for {
  using type = promise;
};
template <class Object, class... Args>
  requires guarded_object<Object>
struct promise_for<Object, Args...> {
  using type = member_promise;
};

/// A variable of a tamed function: the function ends where it waits when the object dies.
class destroy_guard {
 public:
  explicit destroy_guard(const tamed_class& object);
  explicit destroy_guard(const tamed_class* object) : destroy_guard(*object) {}
  destroy_guard(const destroy_guard&) = delete;
  destroy_guard& operator=(const destroy_guard&) = delete;
  ~destroy_guard() = default;

 private:
  member_link link_;
  std::optional<heddle::destroy_guard> native_;  ///< in a function that is ported
};

/// The type of tamed functions in files that are translated with
/// `--returns heddle::tame::function`, for compilers that take no coroutine that returns void.
struct function {};

/// The promise of a function that returns tame::function.
template <class Promise>
struct function_promise : Promise {
  using Promise::Promise;
  [[nodiscard]] function get_return_object() noexcept { return {}; }
};

/// The value that a function with DEFAULT_RETURN { } returned before its first wait, if any.
template <class T>
class early_return {
 public:
  early_return() : state_(std::make_shared<std::optional<T>>()) {}

  template <class U>
  void set(U&& value) {
    state_->emplace(std::forward<U>(value));
  }
  [[nodiscard]] bool has() const noexcept { return state_->has_value(); }
  [[nodiscard]] T take() { return std::move(**state_); }

 private:
  std::shared_ptr<std::optional<T>> state_;  // the function that waits may outlive its caller
};

}  // namespace heddle::tame

template <class... Args>
struct std::coroutine_traits<void, Args...> {
  using promise_type = typename heddle::tame::promise_for<Args...>::type;
};
template <class... Args>
struct std::coroutine_traits<heddle::tame::function, Args...> {
  using promise_type =
      heddle::tame::function_promise<typename heddle::tame::promise_for<Args...>::type>;
};
