// SPDX-License-Identifier: MIT
// Pieces of C++ text: whether one needs brackets, members of it, durations.
#pragma once

#include <cstdint>
#include <string>

namespace heddle::draft {

/// In brackets, unless it is a name, a call, a member or a literal.
[[nodiscard]] std::string cc_primary(const std::string& s);
/// In brackets, if it has an operator with two sides.
[[nodiscard]] std::string cc_wrapped(const std::string& s);
/// It has a co_await.
[[nodiscard]] bool cc_waits(const std::string& s);
/// s.name; s->name of `*s`.
[[nodiscard]] std::string cc_member(const std::string& s, const std::string& name);
/// Whether s[at] opens a bracket that the last character closes.
[[nodiscard]] bool cc_is_one_call(const std::string& s, std::size_t at);
/// A literal.
[[nodiscard]] std::string cc_quoted(const std::string& s);
/// 50ms, 10min.
[[nodiscard]] std::string cc_duration(std::int64_t ns);
/// Whether C++ or its library has a meaning for the name already.
[[nodiscard]] bool is_cc_word(const std::string& name);
/// Whether the C library declares it, so that no namespace can have the name.
[[nodiscard]] bool is_c_function(const std::string& name);

}  // namespace heddle::draft
