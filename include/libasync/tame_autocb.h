/* SPDX-License-Identifier: MIT
 * autocb_t calls a callback with the values that variables have when it ends, unless cancelled.
 */
#pragma once

#include <functional>
#include <tuple>
#include <utility>

#include "async.h"

template <class... Values>
class autocb_t {
 public:
  template <class Callback>
  explicit autocb_t(Callback cb, Values&... values) : call_(std::move(cb)), values_(values...) {}
  autocb_t(const autocb_t&) = delete;
  autocb_t& operator=(const autocb_t&) = delete;
  ~autocb_t() {
    if (call_) std::apply(call_, values_);
  }
  void cancel() { call_ = nullptr; }

 private:
  std::function<void(Values...)> call_;
  std::tuple<Values&...> values_;
};
