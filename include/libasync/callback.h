/* SPDX-License-Identifier: MIT
 * libasync's callbacks: a counted function with a type, `callback<void, int>::ref`. One is made of
 * a wrap(), of an event, or of any function. It is called by (*cb)(7) or cb->trigger(7).
 */
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "../tame.h"
#include "refcnt.h"
#include "str.h"

namespace heddle::libasync {

/// The handle of a callback; null if it was made of nullptr. Thread: one color.
template <class R, class... Args>
class callback_handle {
 public:
  using ref = callback_handle;
  using ptr = callback_handle;

  callback_handle() noexcept = default;
  callback_handle(std::nullptr_t) noexcept {}
  template <class F>
    requires(!std::same_as<std::decay_t<F>, callback_handle> &&
             std::is_invocable_r_v<R, std::decay_t<F>&, Args...>)
  callback_handle(F&& f) : call_(std::make_shared<std::function<R(Args...)>>(std::forward<F>(f))) {}

  R operator()(Args... args) const { return (*call_)(std::forward<Args>(args)...); }
  R trigger(Args... args) const { return (*call_)(std::forward<Args>(args)...); }
  R signal(Args... args) const { return (*call_)(std::forward<Args>(args)...); }
  const callback_handle* operator->() const noexcept { return this; }
  const callback_handle& operator*() const noexcept { return *this; }
  explicit operator bool() const noexcept { return call_ != nullptr; }
  friend bool operator==(const callback_handle& a, std::nullptr_t) noexcept {
    return a.call_ == nullptr;
  }

 private:
  std::shared_ptr<std::function<R(Args...)>> call_;
};

}  // namespace heddle::libasync

template <class R, class... Args>
struct callback {
  using ref = heddle::libasync::callback_handle<R, Args...>;
  using ptr = ref;
};
template <class R>
struct callback<R, void> : callback<R> {};

/// `ptr<callback<void, int>>` is the same as `callback<void, int>::ptr`.
template <class R, class... Args>
class ptr<callback<R, Args...>> : public callback<R, Args...>::ref {
 public:
  using callback<R, Args...>::ref::ref;
};

using cbv = callback<void>::ref;
using cbi = callback<void, int>::ref;
using cbb = callback<void, bool>::ref;
using cbs = callback<void, str>::ref;
