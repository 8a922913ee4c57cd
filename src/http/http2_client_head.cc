// SPDX-License-Identifier: MIT
// A request's text becomes a header block, and an answer's header block becomes a text.
#include "heddle/http/detail/http2_client_head.hh"

#include "heddle/http/headers.hh"

namespace heddle::http {
namespace {

bool always_secret(std::string_view name) noexcept {
  return equal_ignoring_case(name, "authorization") || equal_ignoring_case(name, "cookie") ||
         equal_ignoring_case(name, "proxy-authorization");
}

}  // namespace

/// Sets the properties in which a head of HTTP/2 differs from the text that it is parsed from.
struct http2_answer_meaning {
  static void set(response_head& head, bool ends) noexcept {
    head.major_version_ = 2;
    head.minor_version_ = 0;
    head.keep_alive_ = true;
    if (ends) head.body_ = framing::none;
  }
};

void put_http2_request(std::string& out, std::string_view head, const http2_request_kind& kind) {
  const std::size_t line_end = head.find("\r\n");
  const std::string_view line = head.substr(0, line_end);
  const std::string_view lines = head.substr(line_end + 2);
  const std::size_t method_end = line.find(' '), target_end = line.rfind(' ');
  std::string_view host;
  each_field_line(lines, [&](std::string_view name, std::string_view value) {
    if (equal_ignoring_case(name, "host")) host = value;
  });
  const bool tunnel = !kind.protocol.empty();
  hpack_encode(out, ":method", tunnel ? std::string_view("CONNECT") : line.substr(0, method_end));
  if (tunnel) hpack_encode(out, ":protocol", kind.protocol);
  hpack_encode(out, ":scheme", kind.secure ? "https" : "http");
  hpack_encode(out, ":authority", host);
  hpack_encode(out, ":path", line.substr(method_end + 1, target_end - method_end - 1));
  each_field_line(lines, [&](std::string_view name, std::string_view value) {
    if (equal_ignoring_case(name, "host")) return;
    put_http2_field(out, name, value, always_secret(name) || (kind.secret && kind.secret(name)));
  });
}

http2_block read_http2_answer(hpack_decoder& decoder, std::string_view block, const limits& bounds,
                              bool ends, response_head& head, problem& why) {
  std::string status, lines;
  const http2_block what = read_http2_fields(
      decoder, block, bounds,
      [&](const hpack_pair& f) {
        why = f.name != ":status"   ? problem::pseudo_unknown
              : !status.empty()     ? problem::status_repeated
              : f.value.size() != 3 ? problem::status_bad
                                    : problem::none;
        if (why != problem::none) return false;
        status.assign(f.value);
        return true;
      },
      [&](const hpack_pair& f) {
        lines.append(f.name).append(": ").append(f.value).append("\r\n");
        return true;
      },
      &why);
  if (what != http2_block::good) return what;
  if (status.empty() || status == "101") {
    why = status.empty() ? problem::status_missing : problem::status_bad;
    return http2_block::malformed;
  }
  const std::string text = "HTTP/1.1 " + status + " \r\n" + lines + "\r\n";
  std::string_view rest = text;
  response_parser parser(bounds);
  if (parser.feed(rest) != parse_state::done) {
    why = parser.error() == problem::status_line_malformed ? problem::status_bad : parser.error();
    return why == problem::headers_too_large || why == problem::headers_too_many
               ? http2_block::too_large
               : http2_block::malformed;
  }
  head = parser.take();
  http2_answer_meaning::set(head, ends);
  return http2_block::good;
}

}  // namespace heddle::http
