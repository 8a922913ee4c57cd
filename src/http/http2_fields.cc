// SPDX-License-Identifier: MIT
// Fields that messages of HTTP/2 may hold, and trailers.
#include "heddle/http/detail/http2_fields.hh"

#include <algorithm>

#include "heddle/http/headers.hh"

namespace heddle::http {
namespace {

/// Whether a field is about one connection: HTTP/2 has no use for it (section 8.2.2).
bool of_connection(std::string_view name) noexcept {
  for (const std::string_view one :
       {"connection", "transfer-encoding", "keep-alive", "proxy-connection", "upgrade"})
    if (equal_ignoring_case(one, name)) return true;
  return false;
}

bool lower_case(std::string_view name) noexcept {
  return std::ranges::none_of(name, [](char c) { return c >= 'A' && c <= 'Z'; });
}

}  // namespace

bool http2_field_valid(const hpack_pair& f) noexcept {
  // Section 8.2.1: a value neither begins nor ends with a blank.
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  if (!f.value.empty() && (blank(f.value.front()) || blank(f.value.back()))) return false;
  return lower_case(f.name) && token_valid(f.name) && value_valid(f.value) &&
         !of_connection(f.name) && (f.name != "te" || f.value == "trailers");
}

problem http2_field_problem(const hpack_pair& f) noexcept {
  if (f.name.empty()) return problem::name_missing;
  if (!lower_case(f.name)) return problem::name_upper_case;
  if (!token_valid(f.name)) return problem::name_bad_byte;
  if (!value_valid(f.value)) return problem::value_bad_byte;
  return of_connection(f.name) || f.name == "te" ? problem::field_of_connection
                                                 : problem::value_blank;
}

void put_http2_field(std::string& out, std::string_view name, std::string_view value, bool secret) {
  char lower[64];
  std::string longer;
  std::string_view key;
  const auto low = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  if (name.size() <= sizeof(lower)) {
    std::ranges::transform(name, lower, low);
    key = {lower, name.size()};
  } else {
    longer.resize(name.size());
    std::ranges::transform(name, longer.begin(), low);
    key = longer;
  }
  if (of_connection(key)) return;
  if (secret) {
    hpack_encode_secret(out, key, value);
  } else {
    hpack_encode(out, key, value);
  }
}

void put_http2_lines(std::string& out, std::string_view lines) {
  each_field_line(lines, [&](std::string_view name, std::string_view value) {
    put_http2_field(out, name, value);
  });
}

http2_block read_http2_trailers(hpack_decoder& decoder, std::string_view block,
                                const limits& bounds, std::string& lines) {
  const http2_block what = read_http2_fields(
      decoder, block, bounds, [](const hpack_pair&) { return false; },
      [&](const hpack_pair& f) {
        if (lines.size() <= bounds.header_bytes_max)
          lines.append(f.name).append(": ").append(f.value).append("\r\n");
        return true;
      });
  return what == http2_block::good && lines.size() > bounds.header_bytes_max
             ? http2_block::too_large
             : what;
}

void put_http2_trailers(std::string& out, const field_list& fields) {
  fields.each(
      [&](std::string_view name, std::string_view value) { put_http2_field(out, name, value); });
}

}  // namespace heddle::http
