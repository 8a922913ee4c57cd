// SPDX-License-Identifier: MIT
// The handshakes of RFC 6455 section 4, as a server and as a client.
#include <algorithm>
#include <utility>

#include "heddle/http/base64.hh"
#include "heddle/http/content_coding.hh"
#include "heddle/http/detail/websocket_accept.hh"
#include "heddle/http/field_list.hh"
#include "heddle/http/headers.hh"
#include "heddle/http/problem.hh"
#include "heddle/http/response_parser.hh"
#include "heddle/sched/runtime.hh"
#include "heddle/web/detail/websocket_client.hh"
#include "heddle/web/problem_details.hh"
#include "web/websocket_deflate.hh"
#include "web/websocket_session.hh"

namespace heddle::http {
namespace {

constexpr std::string_view version = "13";
constexpr limits answer_bounds;

/// The authority without the port that the scheme implies.
std::string_view without_default_port(std::string_view authority, std::string_view scheme) {
  const std::string_view port = equal_ignoring_case(scheme, "https")  ? ":443"
                                : equal_ignoring_case(scheme, "http") ? ":80"
                                                                      : "";
  if (!port.empty() && authority.ends_with(port)) authority.remove_suffix(port.size());
  return authority;
}

/// Whether two origins are the same (RFC 6454 section 5).
bool same_origin(std::string_view a, std::string_view b) {
  const std::size_t of_a = a.find("://"), of_b = b.find("://");
  if (of_a == a.npos || of_b == b.npos) return equal_ignoring_case(a, b);
  const std::string_view scheme = a.substr(0, of_a);
  return equal_ignoring_case(scheme, b.substr(0, of_b)) &&
         equal_ignoring_case(without_default_port(a.substr(of_a + 3), scheme),
                             without_default_port(b.substr(of_b + 3), scheme));
}

/// Whether a page of this origin may connect (RFC 6455 section 10.2).
bool admits(const request_head& head, const websocket_options& o) {
  const std::string_view origin = head.value(header_id::origin);
  if (origin.empty()) return true;
  for (const std::string& allowed : o.origins)
    if (allowed == "*" || same_origin(allowed, origin)) return true;
  const std::size_t end = origin.find("://");
  return end != origin.npos &&
         same_origin(origin, std::string(origin.substr(0, end + 3)).append(head.authority()));
}

std::string choose_protocol(std::string_view asked, const std::vector<std::string>& known) {
  for (const std::string& each : known)
    for (std::string_view rest = asked; !rest.empty();) {
      const std::size_t comma = rest.find(',');
      std::string_view name = rest.substr(0, comma);
      rest = comma == rest.npos ? std::string_view() : rest.substr(comma + 1);
      while (name.starts_with(' ') || name.starts_with('\t')) name.remove_prefix(1);
      while (name.ends_with(' ') || name.ends_with('\t')) name.remove_suffix(1);
      if (name == each) return each;
    }
  return {};
}

failure bad_answer(const std::string& what) {
  return failure(std::make_error_code(std::errc::bad_message), "the WebSocket handshake: " + what);
}

/// The value of an answer's field; fails if the field is there twice.
std::string_view field_of(const response_head& head, std::string_view name) {
  std::size_t seen = 0;
  for (std::size_t i = 0; i < head.header_count(); ++i)
    seen += equal_ignoring_case(head.header_at(i).name, name);
  if (seen > 1) throw bad_answer(std::string(name) + " came twice");
  return head.value(name);
}

/// Reads the answer's head; bytes after it go to `early`.
task<response_head> read_answer(stream connection, std::string& early) {
  response_parser parser(answer_bounds);
  for (;;) {
    const received in = co_await connection.receive();
    if (in.empty())
      throw failure(std::make_error_code(std::errc::connection_reset),
                    parser.received() == 0 ? "the server closed the connection without an answer "
                                             "to the WebSocket handshake"
                                           : "the connection ended inside the answer to the "
                                             "WebSocket handshake");
    std::string_view rest = in.text();
    const parse_state state = parser.feed(rest);
    if (state == parse_state::failed) throw bad_answer(std::string(describe(parser.error())));
    if (state == parse_state::need_more) continue;
    early = rest;
    co_return parser.take();
  }
}

bool offers_deflate(const websocket_options& o) noexcept { return o.deflate && can_compress(); }

bool printable(std::string_view text) noexcept {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

/// The options on which a server's answer agrees, by these two fields.
websocket_agreement agreement_of(std::string_view extensions, std::string_view protocol,
                                 const websocket_options& o) {
  websocket_agreement agreed;
  if (offers_deflate(o)) agreed.deflate_bits = read_websocket_deflate_answer(extensions);
  if (!extensions.empty() && agreed.deflate_bits == 0)
    throw bad_answer("an extension that was not asked for");
  agreed.protocol = protocol;
  if (!protocol.empty() && std::ranges::find(o.protocols, protocol) == o.protocols.end())
    throw bad_answer("a protocol that was not asked for");
  return agreed;
}

/// Whether the handshake sends this field itself.
bool of_handshake(std::string_view name) noexcept {
  return is_framing_field(name) || equal_ignoring_case(name, "host") ||
         equal_ignoring_case(name, "upgrade") ||
         equal_ignoring_case(name.substr(0, 14), "sec-websocket-");
}

/// Checks the answer to this key (RFC 6455 section 4.1).
websocket_agreement check_answer(const response_head& head, std::string_view key,
                                 const websocket_options& o) {
  if (head.minor_version() != 1) throw bad_answer("no HTTP/1.1 answer");
  if (head.status() != 101)
    throw failure(
        std::make_error_code(std::errc::connection_refused),
        "the server answered " + std::to_string(head.status()) + " to the WebSocket handshake");
  if (!equal_ignoring_case(field_of(head, "Upgrade"), "websocket"))
    throw bad_answer("no Upgrade: websocket");
  if (!list_has_token(field_of(head, "Connection"), "upgrade"))
    throw bad_answer("no Connection: Upgrade");
  if (field_of(head, "Sec-WebSocket-Accept") != websocket_accept_of(key))
    throw bad_answer("Sec-WebSocket-Accept does not belong to the key");
  return agreement_of(field_of(head, "Sec-WebSocket-Extensions"),
                      field_of(head, "Sec-WebSocket-Protocol"), o);
}

task<websocket> handshake(stream connection, std::string host, std::string target,
                          websocket_options o) {
  const std::string key = new_websocket_key();
  std::string asked = "GET " + target + " HTTP/1.1\r\nHost: " + host +
                      "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: " + key +
                      "\r\n" + websocket_request_lines(o) + "\r\n";
  co_await connection.write(std::string_view(asked));
  std::string early;
  const response_head head = co_await read_answer(connection, early);
  websocket_agreement agreed = check_answer(head, key, o);
  co_return websocket(std::make_unique<websocket::session>(std::move(connection), early, o, false,
                                                           std::move(agreed)));
}

/// The answer to a handshake; throws status_error to refuse it.
response agree(request& asked, const websocket_options& options, websocket_agreement& agreed) {
  const request_head& head = asked.head();
  if (head.value(header_id::sec_websocket_version) != version) {
    asked.add_header("Sec-WebSocket-Version", version);
    asked.add_header("Upgrade", "websocket");
    throw status_error(426, "this resource speaks WebSocket, version 13");
  }
  const bool keyed = head.major_version() == 1;  // RFC 8441 section 5: HTTP/2 has no key
  const auto key = from_base64(head.value(header_id::sec_websocket_key));
  if (keyed && (head.verb() != method::get || !key || key->size() != websocket_key_bytes ||
                head.repeated(header_id::sec_websocket_key)))
    throw status_error(400, "a WebSocket begins by GET with a Sec-WebSocket-Key of 16 bytes");
  if (!admits(head, options)) throw status_error(403, "pages of this origin may not connect");
  response answer(101);
  if (keyed)
    answer.header("Sec-WebSocket-Accept",
                  websocket_accept_of(head.value(header_id::sec_websocket_key)));
  agreed.protocol =
      choose_protocol(head.value(header_id::sec_websocket_protocol), options.protocols);
  if (!agreed.protocol.empty()) answer.header("Sec-WebSocket-Protocol", agreed.protocol);
  if (options.deflate)
    agreed.deflate_bits = choose_websocket_deflate(head.value(header_id::sec_websocket_extensions));
  if (agreed.deflate_bits != 0)
    answer.header("Sec-WebSocket-Extensions", websocket_deflate_answer(agreed.deflate_bits));
  return answer;
}

websocket on_server(upgraded to, const websocket_options& options, websocket_agreement agreed,
                    std::shared_ptr<cancel_source> draining) {
  auto session = std::make_unique<websocket::session>(std::move(to.connection), to.early, options,
                                                      true, std::move(agreed), std::move(draining));
  return websocket(std::move(session));
}

}  // namespace

task<websocket> detail::accept_with(request& asked, websocket_options options) {
  websocket_agreement agreed;
  response answer = agree(asked, options, agreed);
  upgraded to = co_await asked.upgrade("websocket", std::move(answer));
  co_return on_server(std::move(to), options, std::move(agreed), asked.kept_draining());
}

task<response> detail::hand_to_with(request& asked, websocket_talk talk,
                                    websocket_options options) {
  websocket_agreement agreed;
  response answer = agree(asked, options, agreed);
  // The function lives as long as its task. It needs this only at the beginning.
  struct settled {
    websocket_options options;
    websocket_agreement agreed;
  };
  auto with = std::make_unique<settled>(settled{std::move(options), std::move(agreed)});
  take_over then = [talk = std::move(talk), with = std::move(with),
                    draining = asked.kept_draining()](upgraded to) mutable {
    const std::unique_ptr<settled> once = std::move(with);
    return talk(
        on_server(std::move(to), once->options, std::move(once->agreed), std::move(draining)));
  };
  co_return co_await asked.hand_over("websocket", std::move(answer), std::move(then));
}

std::string new_websocket_key() {
  std::string random;
  while (random.size() < websocket_key_bytes) {
    const std::uint64_t number = runtime::here().io().random();
    random.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  return to_base64(random);
}

std::string websocket_request_lines(const websocket_options& o) {
  field_list lines;
  bool good = lines.add("Sec-WebSocket-Version", version);
  if (offers_deflate(o)) good &= lines.add("Sec-WebSocket-Extensions", websocket_deflate_offer);
  std::string protocols;
  for (const std::string& each : o.protocols) {
    good &= printable(each) && each.find(',') == each.npos;
    protocols += (protocols.empty() ? "" : ", ") + each;
  }
  if (!protocols.empty()) good &= lines.add("Sec-WebSocket-Protocol", protocols);
  for (const auto& [name, value] : o.fields) good &= !of_handshake(name) && lines.add(name, value);
  if (!good)
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "a WebSocket's protocol or field has a character that must not be sent, or its "
                  "handshake sends the field itself");
  return std::string(lines.lines());
}

websocket websocket_on(stream connection, const response_head& answer,
                       const websocket_options& options) {
  websocket_agreement agreed = agreement_of(field_of(answer, "Sec-WebSocket-Extensions"),
                                            field_of(answer, "Sec-WebSocket-Protocol"), options);
  return websocket(std::make_unique<websocket::session>(std::move(connection), std::string_view(),
                                                        options, false, std::move(agreed)));
}

task<websocket> detail::connect_with(stream connection, std::string host, std::string target,
                                     websocket_options options) {
  if (!printable(host) || !printable(target) || !target.starts_with('/'))
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "a WebSocket's host or path has a character that must not be sent");
  static_cast<void>(websocket_request_lines(options));  // fails before anything is sent
  const nanoseconds patience = options.close_timeout;
  co_return co_await with_timeout(
      handshake(std::move(connection), std::move(host), std::move(target), std::move(options)),
      patience);
}

}  // namespace heddle::http
