// SPDX-License-Identifier: MIT
// Adds one field after checking it.
#include "heddle/http/field_list.hh"

#include "heddle/http/headers.hh"

namespace heddle::http {

bool is_framing_field(std::string_view name) noexcept {
  for (const std::string_view own : {"Connection", "Content-Length", "Transfer-Encoding"})
    if (equal_ignoring_case(own, name)) return true;
  return false;
}

bool field_list::add(std::string_view name, std::string_view value) {
  if (!token_valid(name) || !value_valid(value)) return false;
  lines_.reserve(lines_.size() + name.size() + value.size() + 4);
  lines_.append(name).append(": ", 2).append(value).append("\r\n", 2);
  return true;
}

}  // namespace heddle::http
