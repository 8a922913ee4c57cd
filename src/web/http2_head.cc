// SPDX-License-Identifier: MIT
// Pseudo-header fields, and what no message of HTTP/2 may hold.
#include "web/http2_head.hh"

#include <algorithm>
#include <array>
#include <utility>

#include "heddle/http/head_writer.hh"
#include "heddle/http/headers.hh"

namespace heddle::http {
namespace {

struct pseudo_fields {
  static constexpr std::array<std::string_view, 5> names = {":method", ":scheme", ":authority",
                                                            ":path", ":protocol"};
  enum { method, scheme, authority, path, protocol };
  std::array<std::string, 5> value;
  std::array<bool, 5> seen{};

  /// Takes a pseudo field. False if it is unknown, or was seen before.
  [[nodiscard]] bool take(const hpack_pair& f) {
    const auto found = std::ranges::find(names, f.name);
    if (found == names.end()) return false;
    const auto i = static_cast<std::size_t>(found - names.begin());
    if (seen[i] || !value_valid(f.value)) return false;
    seen[i] = true;
    value[i].assign(f.value);
    return true;
  }
  /// Whether the pseudo fields fit together (section 8.3.1, and RFC 8441 section 4).
  [[nodiscard]] bool whole() const noexcept {
    if (!seen[method] || value[method].empty()) return false;
    if (value[method].find(' ') != std::string::npos) return false;
    if (value[method] == "CONNECT" && !seen[protocol])
      return seen[authority] && !seen[scheme] && !seen[path];
    if (seen[protocol] && value[method] != "CONNECT") return false;
    if (!seen[scheme] || !seen[path] || value[path].find(' ') != std::string::npos) return false;
    return value[path].starts_with('/') || (value[path] == "*" && value[method] == "OPTIONS");
  }
};

}  // namespace

http2_block read_http2_request(hpack_decoder& decoder, std::string_view block, const limits& bounds,
                               std::string& text, std::string& protocol) {
  pseudo_fields pseudo;
  std::string lines, host, cookies;
  lines.reserve(256);  // most requests have fewer bytes
  bool has_host = false;
  const http2_block what = read_http2_fields(
      decoder, block, bounds, [&](const hpack_pair& f) { return pseudo.take(f); },
      [&](const hpack_pair& f) {
        if (f.name == "host") {
          if (std::exchange(has_host, true)) return false;
          host.assign(f.value);
          return true;
        }
        if (f.name == "cookie") {  // section 8.2.3: HTTP/1.1 has them in one field
          if (!cookies.empty()) cookies.append("; ");
          cookies.append(f.value);
          return true;
        }
        lines.append(f.name).append(": ").append(f.value).append("\r\n");
        return true;
      });
  if (what == http2_block::broken) return what;
  if (what == http2_block::malformed || !pseudo.whole()) return http2_block::malformed;
  if (!cookies.empty()) lines.append("cookie: ").append(cookies).append("\r\n");
  if (what == http2_block::too_large || lines.size() > bounds.header_bytes_max) {
    // The answer needs no more of the request than this (RFC 9110 section 9.3.2).
    text = pseudo.value[pseudo_fields::method] == "HEAD" ? "HEAD" : "GET";
    text.append(" / HTTP/1.1\r\nHost: refused\r\n\r\n");
    return http2_block::too_large;
  }
  const std::string& authority = pseudo.value[pseudo_fields::authority];
  if (pseudo.seen[pseudo_fields::authority]) {
    if (has_host && !equal_ignoring_case(host, authority)) return http2_block::malformed;
    host = authority;
    has_host = true;
  }
  protocol = pseudo.value[pseudo_fields::protocol];
  const bool tunnel = pseudo.value[pseudo_fields::method] == "CONNECT" && protocol.empty();
  // With :protocol, the request is the one that asks HTTP/1.1 for an upgrade.
  const std::string_view target = tunnel ? host : pseudo.value[pseudo_fields::path];
  text.reserve(pseudo.value[pseudo_fields::method].size() + target.size() + host.size() +
               lines.size() + 64);
  text = protocol.empty() ? pseudo.value[pseudo_fields::method] : std::string_view("GET");
  text.append(" ").append(target);
  text.append(" HTTP/1.1\r\n");
  if (has_host) text.append("Host: ").append(host).append("\r\n");
  text.append(lines).append("\r\n");
  return http2_block::good;
}

void put_http2_answer(std::string& out, const response& r, const field_list& added, bool length,
                      answer_opening& opening, packed_lines& packed) {
  char digits[20];
  hpack_encode(out, ":status", {digits, write_decimal(digits, static_cast<unsigned>(r.status()))});
  const auto put = [&](std::string_view name, std::string_view value) {
    put_http2_field(out, name, value);
  };
  if (!r.from_elsewhere()) out.append(opening.packed_fixed_lines());
  if (!r.dated()) out.append(opening.packed_date());
  const bool stated = r.length_line() != 0 && length;
  const piece& shared = r.shared_piece();
  packed.put(out, shared, shared.size() - (stated ? 0 : r.length_line()));
  r.fields().each(put);
  added.each(put);
  if (length && !stated)
    hpack_encode(out, "content-length", {digits, write_decimal(digits, r.length())});
}

void put_http2_interim(std::string& out, const response& r) {
  char digits[20];
  hpack_encode(out, ":status", {digits, write_decimal(digits, static_cast<unsigned>(r.status()))});
  const auto put = [&](std::string_view name, std::string_view value) {
    put_http2_field(out, name, value);
  };
  each_field_line(r.shared_lines(), put);
  r.fields().each(put);
}

}  // namespace heddle::http
