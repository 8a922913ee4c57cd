// SPDX-License-Identifier: MIT
// The line of failed orders, written and read.
#include "acme/failure_record.hh"

#include <charconv>

namespace heddle::acme::detail {
namespace {

/// Takes a number and the byte behind it off the text.
template <class Number>
bool take(std::string_view& text, Number& into) noexcept {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  if (error != std::errc() || end == text.data() + text.size() || *end != ' ') return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return true;
}

}  // namespace

std::string text_of(const failure_record& r) {
  std::string text = std::to_string(r.failures) + ' ' + std::to_string(r.next) + ' ' +
                     std::to_string(r.limited_until) + ' ';
  for (std::size_t i = 0; i < r.names.size(); ++i) (text += i == 0 ? "" : ",") += r.names[i];
  return text += '\n';
}

std::optional<failure_record> failure_record_of(std::string_view text) {
  failure_record r;
  if (!text.ends_with('\n') || !take(text, r.failures) || !take(text, r.next) ||
      !take(text, r.limited_until))
    return std::nullopt;
  text.remove_suffix(1);
  for (;;) {
    const std::size_t comma = text.find(',');
    r.names.emplace_back(text.substr(0, comma));
    if (comma == text.npos) return r;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace heddle::acme::detail
