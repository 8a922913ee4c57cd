// SPDX-License-Identifier: MIT
// Calls of C functions that a Draft program declared as extern: bytes go to C as heddle_view,
// buffers as heddle_buffer*, and C's own objects are released by the function that was named.
//
//   using table = draft::foreign<::table, table_free>;
//   table_set(t.get(), draft::to_c(key), draft::to_c(value));
#pragma once

#include <memory>
#include <string_view>

#include "heddle/draft/text.hh"
#include "heddle/io/blocking.hh"

namespace heddle::from_draft {

[[nodiscard]] inline std::string_view from_c(heddle_view v) noexcept { return {v.data, v.len}; }
/// The bytes of a text<N> in a C record: a struct of `len` and `data`.
template <class Text>
[[nodiscard]] std::string_view text_in(const Text& t) noexcept {
  return {t.data, t.len};
}
/// Sets it; throws error.full if the bytes do not fit.
template <class Text>
void set_text(Text& t, std::string_view v) {
  if (heddle_text_set(&t.len, t.data, sizeof t.data, to_c(v)) != 0) throw error("full");
}
/// Adds to it; throws error.full if the bytes do not fit.
template <class Text>
void append_text(Text& t, std::string_view v) {
  if (heddle_text_append(&t.len, t.data, sizeof t.data, to_c(v)) != 0) throw error("full");
}

template <auto Drop>
struct drop_foreign {
  template <class T>
  void operator()(T* x) const noexcept {
    Drop(x);
  }
};
/// An object of C's, owned once.
template <class T, auto Drop>
using foreign = std::unique_ptr<T, drop_foreign<Drop>>;

/// Calls f in the pool while the function waits.
template <class F>
[[nodiscard("co_await it")]] task<std::invoke_result_t<F&>> blocking(F& f) {
  co_return value_of(co_await as_expected(heddle::blocking([&f] { return f(); })));
}

}  // namespace heddle::from_draft
