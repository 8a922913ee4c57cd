// SPDX-License-Identifier: MIT
// Names and literals as C spells them.
#pragma once

#include <string>
#include <string_view>

#include "draft/types.hh"

namespace heddle::draft {

/// Whether a name of a program would be a keyword, or a name of the generated code, in C.
bool is_c_word(std::string_view name);
/// The name in C: with an underscore after it where C has the word.
std::string c_name(const std::string& name);
/// A string literal of C.
std::string c_text(const std::string& s);
/// The short name of an integer type, in names of helpers: i64.
std::string int_name(const type& t);

}  // namespace heddle::draft
