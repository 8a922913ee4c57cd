// SPDX-License-Identifier: MIT
// Filters and adds fields. Connection may name any field, so a client could have the proxy's own
// ones removed that way: they are added after the filter, and do not pass through it.
#include "proxy/fields.hh"

#include <algorithm>
#include <charconv>

#include "heddle/http/chunked.hh"

namespace heddle::http::detail {
namespace {

void put(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

/// Fields of the connection itself, and those that the proxy writes anew.
bool of_connection(header_id id) noexcept {
  switch (id) {
    case header_id::host:
    case header_id::connection:
    case header_id::content_length:
    case header_id::transfer_encoding:
    case header_id::expect:
    case header_id::upgrade:
    case header_id::te:
    case header_id::keep_alive:
    case header_id::proxy_connection:
    case header_id::proxy_authorization:
    case header_id::http2_settings:
    case header_id::via:
      return true;
    default:
      return false;
  }
}

bool about_client(header_id id) noexcept {
  return id == header_id::forwarded || id == header_id::x_forwarded_for ||
         id == header_id::x_forwarded_proto || id == header_id::x_forwarded_host ||
         id == header_id::x_real_ip;
}

/// "X_Forwarded_For": a server with CGI names its variable as that of X-Forwarded-For.
bool looks_about_client(std::string_view name) {
  if (name.find('_') == name.npos) return false;
  std::string plain(name);
  std::ranges::replace(plain, '_', '-');
  return about_client(header_id_of(plain));
}

/// Whether Connection names more than "keep-alive", "close" and the like.
bool names_fields(const request_head& head) {
  if (!head.has(header_id::connection)) return false;
  if (head.repeated(header_id::connection)) return true;
  const std::string_view value = head.value(header_id::connection);
  return !equal_ignoring_case(value, "keep-alive") && !equal_ignoring_case(value, "close") &&
         !equal_ignoring_case(value, "upgrade");
}

bool connection_names(const request_head& head, std::string_view name) {
  for (std::size_t i = head.next(header_id::connection, 0); i < head.header_count();
       i = head.next(header_id::connection, i + 1))
    if (list_has_token(head.header_at(i).value, name)) return true;
  return false;
}

/// All values of a field, with commas between them.
std::string joined(const request_head& head, header_id id) {
  std::string all;
  for (std::size_t i = head.next(id, 0); i < head.header_count(); i = head.next(id, i + 1)) {
    if (!all.empty()) all += ", ";
    all += head.header_at(i).value;
  }
  return all;
}

/// As a value of RFC 7239 section 4: a token, or a quoted text.
void put_quotable(std::string& out, std::string_view value) {
  if (token_valid(value)) {
    out += value;
    return;
  }
  out += '"';
  for (const char c : value) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

void put_forwarded(std::string& out, const head_request& of, const proxy_options& options,
                   std::string_view client, bool v6, bool passed_on) {
  out += "Forwarded: ";
  if (passed_on && of.head.has(header_id::forwarded))
    out.append(joined(of.head, header_id::forwarded)).append(", ");
  out += "for=";
  if (client.empty()) {
    out += "unknown";
  } else if (v6) {
    out.append("\"[").append(client).append("]\"");
  } else {
    out += client;
  }
  if (const std::string_view host = of.head.authority(); !host.empty()) {
    out += ";host=";
    put_quotable(out, host);
  }
  out += options.secure ? ";proto=https\r\n" : ";proto=http\r\n";
}

void put_x_forwarded(std::string& out, const head_request& of, const proxy_options& options,
                     std::string_view client, bool passed_on) {
  const std::string before = passed_on ? joined(of.head, header_id::x_forwarded_for) : "";
  if (!before.empty() || !client.empty()) {
    out += "X-Forwarded-For: ";
    if (!before.empty()) out.append(before).append(client.empty() ? "" : ", ");
    out.append(client).append("\r\n");
  }
  const auto kept = [&](header_id id) { return passed_on && of.head.has(id); };
  put(out, "X-Forwarded-Proto",
      kept(header_id::x_forwarded_proto) ? of.head.value(header_id::x_forwarded_proto)
      : options.secure                   ? "https"
                                         : "http");
  const std::string_view host = kept(header_id::x_forwarded_host)
                                    ? of.head.value(header_id::x_forwarded_host)
                                    : of.head.authority();
  if (!host.empty()) put(out, "X-Forwarded-Host", host);
}

void put_client(std::string& out, const head_request& of, const proxy_options& options) {
  if (!options.x_forwarded && !options.forwarded) return;
  const bool passed_on = trusts(options, of.peer);
  const address peer = of.peer ? of.peer.unmapped() : of.peer;
  const std::string client = peer ? peer.host() : std::string();
  if (options.x_forwarded) put_x_forwarded(out, of, options, client, passed_on);
  if (options.forwarded) put_forwarded(out, of, options, client, peer.is_v6(), passed_on);
}

void put_via(std::string& out, const request_head& head, const proxy_options& options) {
  const std::string before = head.has(header_id::via) ? joined(head, header_id::via) : "";
  if (before.empty() && options.via.empty()) return;
  out.append("Via: ").append(before);
  if (!options.via.empty()) {
    out.append(before.empty() ? "" : ", ");
    out += head.major_version() == 2 ? "2 " : head.minor_version() == 0 ? "1.0 " : "1.1 ";
    out += options.via;
  }
  out += "\r\n";
}

void put_framing(std::string& out, const request_head& head) {
  if (head.body() == framing::chunked) {
    out += "Transfer-Encoding: chunked\r\n";
  } else if (head.body() == framing::length || head.has(header_id::content_length) ||
             head.verb() == method::post || head.verb() == method::put ||
             head.verb() == method::patch) {
    put(out, "Content-Length", std::to_string(head.content_length()));
  }
}

void put_connection(std::string& out, const head_request& of, const proxy_options& options) {
  if (!of.extended_protocol.empty()) {
    put(out, "Upgrade", of.extended_protocol);
    out += "Connection: Upgrade\r\n";
    if (!of.websocket_key.empty()) put(out, "Sec-WebSocket-Key", of.websocket_key);
    return;
  }
  const std::string protocols = options.upgrades ? passed_upgrade(of.head) : std::string();
  const bool upgrade = !protocols.empty();
  const bool trailers =
      of.head.has(header_id::te) && list_has_token(of.head.value(header_id::te), "trailers");
  if (upgrade) put(out, "Upgrade", protocols);
  if (trailers) out += "TE: trailers\r\n";
  if (upgrade || trailers)
    put(out, "Connection", upgrade && trailers ? "Upgrade, TE" : upgrade ? "Upgrade" : "TE");
}

}  // namespace

bool trusts(const proxy_options& options, const address& peer) noexcept {
  return peer &&
         std::ranges::any_of(options.trusted, [&](const network& n) { return n.contains(peer); });
}

std::string passed_upgrade(const request_head& head) {
  std::string all;
  if (!head.upgrade()) return all;
  const std::string offered = joined(head, header_id::upgrade);
  std::string_view rest = offered;
  std::string_view each;
  while (take_list_element(rest, each))
    if (!equal_ignoring_case(each, "h2c")) all.append(all.empty() ? "" : ", ").append(each);
  return all;
}

std::optional<std::uint64_t> forwards_left(const request_head& head) noexcept {
  const std::string_view text = head.value("Max-Forwards");
  std::uint64_t left = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), left);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return left;
}

void put_request_head(std::string& out, const head_request& of, const proxy_options& options) {
  const request_head& head = of.head;
  out.append(head.method_text()).append(" ");
  out += head.path();
  if (head.has_query()) out.append("?").append(head.query());
  out += " HTTP/1.1\r\n";
  const std::string_view host = head.authority();
  put(out, "Host", options.keep_host && !host.empty() ? host : of.authority);
  const bool named = names_fields(head);
  std::string cookies;  // HTTP/2 splits Cookie into several fields: RFC 9113 section 8.2.3
  for (std::size_t i = 0; i < head.header_count(); ++i) {
    const header h = head.header_at(i);
    if (of_connection(h.id) || about_client(h.id)) continue;
    if (h.id == header_id::other && looks_about_client(h.name)) continue;
    if (named && connection_names(head, h.name)) continue;
    if (!of.extended_protocol.empty() && h.id == header_id::sec_websocket_key) continue;
    if (h.id == header_id::cookie && head.repeated(h.id)) {
      cookies.append(cookies.empty() ? "" : "; ").append(h.value);
      continue;
    }
    if (head.verb() == method::options && equal_ignoring_case(h.name, "max-forwards")) {
      if (const auto left = forwards_left(head); left && *left != 0) {
        put(out, h.name, std::to_string(*left - 1));
        continue;
      }
    }
    put(out, h.name, h.value);
  }
  if (!cookies.empty()) put(out, "Cookie", cookies);
  // A trusted peer's fields pass even if this proxy adds none of that kind.
  if (trusts(options, of.peer)) {
    for (const header_id id :
         {header_id::x_real_ip, header_id::x_forwarded_for, header_id::x_forwarded_proto,
          header_id::x_forwarded_host, header_id::forwarded}) {
      const bool own = id == header_id::forwarded ? options.forwarded : options.x_forwarded;
      if (head.has(id) && (id == header_id::x_real_ip || !own))
        put(out, name_of(id), joined(head, id));
    }
  }
  put_client(out, of, options);
  put_via(out, head, options);
  put_connection(out, of, options);
  if (of.expect) out += "Expect: 100-continue\r\n";
  if (of.extended_protocol.empty()) put_framing(out, head);  // a tunnel's DATA frames are no body
  out += "\r\n";
}

bool put_answer_fields(std::string& out, const response_head& head, bool drop_accept) {
  bool dated = false;
  std::string named;  // fields that Connection names
  for (std::size_t i = 0; i < head.header_count(); ++i) {
    const header h = head.header_at(i);
    if (h.id != header_id::connection || equal_ignoring_case(h.value, "keep-alive") ||
        equal_ignoring_case(h.value, "close"))
      continue;
    named.append(named.empty() ? "" : ",").append(h.value);
  }
  for (std::size_t i = 0; i < head.header_count(); ++i) {
    const header h = head.header_at(i);
    switch (h.id) {
      case header_id::connection:
      case header_id::content_length:
      case header_id::transfer_encoding:
      case header_id::upgrade:
      case header_id::te:
      case header_id::keep_alive:
      case header_id::proxy_connection:
        continue;
      case header_id::date:
        dated = true;
        break;
      default:
        break;
    }
    if (!named.empty() && list_has_token(named, h.name)) continue;
    if (drop_accept && equal_ignoring_case(h.name, "sec-websocket-accept")) continue;
    put(out, h.name, h.value);
  }
  return dated;
}

std::string request_trailers(std::string_view lines, const request_head& head) {
  std::string out;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find("\r\n"), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 2, lines.size()));
    const std::string_view name = line.substr(0, line.find(':'));
    if (name.size() == line.size() || !trailer_allowed(name)) continue;
    if (about_client(header_id_of(name)) || looks_about_client(name)) continue;
    if (connection_names(head, name)) continue;
    out.append(line).append("\r\n");
  }
  return out;
}

bool connection_names(const response_head& head, std::string_view name) {
  for (std::size_t i = 0; i < head.header_count(); ++i) {
    const header h = head.header_at(i);
    if (h.id == header_id::connection && list_has_token(h.value, name)) return true;
  }
  return false;
}

std::string_view offered_upgrade(const response_head& head) noexcept {
  return list_has_token(head.value("connection"), "upgrade") ? head.value("upgrade")
                                                             : std::string_view();
}

}  // namespace heddle::http::detail
