// SPDX-License-Identifier: MIT
// Functions that end with an object. A function that holds a destroy_guard for an object is ended
// where it waits when the object dies: its variables are destroyed, and nothing after the wait
// runs. Member functions of a tamed_class that return `tamed` hold such a guard without writing it,
// and so do functions that return `tamed` and take a reference to such an object first.
//
//   class session : public tamed_class {
//     tamed run() { twait { peer_.read(mkevent(line_)); } ... }     // ends when the session dies
//   };
//   tamed watch(session& s) { destroy_guard alive(s); co_await r; }   // so does this one
//
// A function that runs at that moment (it did `delete this`, say) goes on to its end. One that
// waits for the kernel, or for children of its own, ends when they no longer use its memory.
#pragma once

#include <coroutine>
#include <type_traits>

#include "heddle/core/tamed.hh"

namespace heddle {

class destroy_guard;

/// Thread: one color.
/// Owns: nothing; at its end it ends the functions that hold a guard for it, newest first.
///   A copy starts without any.
class tamed_class {
 public:
  tamed_class() noexcept = default;
  tamed_class(const tamed_class&) noexcept {}
  tamed_class& operator=(const tamed_class&) noexcept { return *this; }

  /// How many functions would end with the object now.
  [[nodiscard]] std::size_t guarded_functions() const noexcept { return guards_.size(); }

 protected:
  ~tamed_class() {
    if (!guards_.empty()) end_functions();
  }

 private:
  friend class destroy_guard;
  void end_functions() noexcept;
  list<destroy_guard> guards_;
};

/// A variable of a coroutine; must not be moved elsewhere. Cancelling reaches the function through
/// a context that the guard opens.
class destroy_guard : public list_node {
 public:
  explicit destroy_guard(const tamed_class& object) { open(object); }
  destroy_guard(const destroy_guard&) = delete;
  destroy_guard& operator=(const destroy_guard&) = delete;
  ~destroy_guard();

 private:
  friend class tamed_class;
  friend struct guarded_promise;

  /// A plain frame used in place of the guarded one: when it runs, the function ends.
  struct end_frame : frame {
    explicit end_frame(destroy_guard& g) noexcept;
    destroy_guard& owner;
  };

  destroy_guard() noexcept = default;
  void open(const tamed_class& object);
  /// Ends the function, because the object dies.
  void end(worker& w) noexcept;
  /// Destroys the function and resumes its joiner.
  void destroy_function(worker& w) noexcept;
  [[nodiscard]] bool leads_here(link leaf) const noexcept;

  link function_ = no_link;
  context* own_ = nullptr;
  std::uint32_t outer_ = 0;
  end_frame end_frame_{*this};
};

namespace detail {
/// A reference to a tamed_class. Asks for a conversion, not for the base class: the type of a
/// lambda, which is asked here too, is not complete yet.
template <class Object>
concept guarded_object = std::is_reference_v<Object> && requires(std::remove_reference_t<Object>* p,
                                                                 const tamed_class*& q) { q = p; };
}  // namespace detail

/// The promise of `tamed` member functions of a tamed_class.
struct guarded_promise : tamed::promise_type {
  template <class Object, class... Args>
  explicit guarded_promise(Object& object, Args&...) noexcept : object_(object) {}
  [[nodiscard]] std::suspend_never initial_suspend() {
    guard_.open(object_);  // in the context of the function, not of the caller
    return {};
  }
  [[gnu::cold, gnu::noinline]] void unhandled_exception() noexcept {
    end_of_failed_function();
    if (!ended_with_object()) note_failure();
  }

 private:
  /// Whether the exception in flight ends the function together with its object: no report then.
  [[nodiscard]] bool ended_with_object() const noexcept;

  const tamed_class& object_;
  destroy_guard guard_;
};

}  // namespace heddle

template <class Object, class... Args>
  requires heddle::detail::guarded_object<Object>
struct std::coroutine_traits<heddle::tamed, Object, Args...> {
  using promise_type = heddle::guarded_promise;
};
