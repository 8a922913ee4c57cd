// SPDX-License-Identifier: MIT
// Takes the elements of both fields from the end, where the nearest proxy wrote.
#include "heddle/http/forwarded.hh"

#include <algorithm>
#include <string>
#include <vector>

#include "heddle/http/detail/charset.hh"

namespace heddle::http {
namespace {

/// Takes the last element off a list. A trusted proxy wrote the end; the client wrote the front,
/// and may have left a quote open there. Read from its end, the list means what the proxy meant.
/// Quotes belong to Forwarded alone.
std::string_view take_last_element(std::string_view& list, forwarded_field field) {
  bool quoted = false;
  std::size_t from = list.size();
  for (; from != 0; --from) {
    const char c = list[from - 1];
    const bool escaped = quoted && from > 1 && list[from - 2] == '\\';
    if (c == '"' && field == forwarded_field::forwarded && !escaped) quoted = !quoted;
    if (c == ',' && !quoted) break;
  }
  const std::string_view element = detail::trim_ows(list.substr(from));
  list = list.substr(0, from == 0 ? 0 : from - 1);
  return element;
}

/// The value of a parameter without its quotes and backslashes.
std::string unquoted(std::string_view value) {
  if (value.size() < 2 || value.front() != '"' || value.back() != '"') return std::string(value);
  std::string plain;
  value = value.substr(1, value.size() - 2);
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] == '\\' && i + 1 < value.size()) ++i;
    plain += value[i];
  }
  return plain;
}

/// Where the next ';' outside of quotes is.
std::size_t pair_end(std::string_view text) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (quoted && text[i] == '\\') ++i;
    if (!quoted && text[i] == ';') return i;
  }
  return text.size();
}

/// "for=192.0.2.7;proto=https" -> "192.0.2.7"; "" if it has no "for".
std::string named_by(std::string_view element) {
  while (!element.empty()) {
    const std::size_t end = pair_end(element);
    const std::string_view pair = detail::trim_ows(element.substr(0, end));
    element.remove_prefix(std::min(end + 1, element.size()));
    if (pair.size() > 4 && equal_ignoring_case(pair.substr(0, 4), "for="))
      return unquoted(pair.substr(4));
  }
  return {};
}

bool contains(std::span<const network> all, const address& a) {
  return std::ranges::any_of(all, [&](const network& n) { return n.contains(a); });
}

}  // namespace

address client_address(const request_head& head, const address& peer,
                       std::span<const network> trusted, forwarded_field field) {
  const header_id id =
      field == forwarded_field::forwarded ? header_id::forwarded : header_id::x_forwarded_for;
  if (!peer || !head.has(id) || !contains(trusted, peer)) return peer;
  std::vector<std::string_view> lines;
  for (std::size_t i = head.next(id, 0); i < head.header_count(); i = head.next(id, i + 1))
    lines.push_back(head.header_at(i).value);
  address reached = peer;
  while (!lines.empty() && contains(trusted, reached)) {
    const std::string_view element = take_last_element(lines.back(), field);
    if (lines.back().empty()) lines.pop_back();
    if (element.empty()) continue;
    const std::string text =
        field == forwarded_field::forwarded ? named_by(element) : std::string(element);
    const auto next = address::parse(text);
    if (!next) break;
    reached = *next;
  }
  return reached;
}

}  // namespace heddle::http
