// SPDX-License-Identifier: MIT
// The error of a result, or none: what tests compare, because a result that holds a value has no
// error to look at.
#pragma once

#include "heddle/base/error.hh"

namespace heddle::test {

template <class T>
[[nodiscard]] std::error_code error_of(const result<T>& r) {
  return r ? std::error_code() : r.error();
}

}  // namespace heddle::test
