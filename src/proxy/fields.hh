// SPDX-License-Identifier: MIT
// The fields of messages that a proxy passes on: without those that are about one connection only
// (RFC 9110 section 7.6.1), and with those that tell an upstream about the client (RFC 7239).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/http/request.hh"
#include "heddle/http/response_parser.hh"
#include "heddle/io/address.hh"
#include "heddle/proxy/options.hh"

namespace heddle::http::detail {

/// The request to pass on, and the addresses that its fields tell.
struct head_request {
  const request_head& head;
  address peer;                ///< the client's address; none for a Unix socket
  std::string_view authority;  ///< the upstream's, for Host if the client's is not kept
  bool expect = false;         ///< asks the upstream for 100 Continue
  /// The protocol that a client of HTTP/2 asks for by CONNECT (RFC 8441); the upstream gets it as
  /// Upgrade. `websocket_key` goes with "websocket", because HTTP/2 has no key.
  std::string_view extended_protocol = {};
  std::string_view websocket_key = {};
};

/// Appends the head of the request as an upstream gets it, with its empty line.
void put_request_head(std::string& out, const head_request& of, const proxy_options& options);

/// Appends the fields of an answer, each as "Name: value\r\n", without those of the connection and
/// without Content-Length. Sec-WebSocket-Accept belongs to a key, and passes only without
/// `drop_accept`. Returns whether Date is among them.
bool put_answer_fields(std::string& out, const response_head& head, bool drop_accept = false);

/// The protocols that a client offers and that pass through; "" if there is none. h2c does not
/// pass, because the upstream would speak HTTP/2 past the proxy's rules about fields (RFC 9113
/// section 3.1 withdrew it).
[[nodiscard]] std::string passed_upgrade(const request_head& head);

/// The protocols that an upstream offers in Upgrade; "" if Connection does not name it.
[[nodiscard]] std::string_view offered_upgrade(const response_head& head) noexcept;

/// Trailer lines of a request, each with its end, without those that must not be trailers, tell of
/// the client, or that Connection names.
[[nodiscard]] std::string request_trailers(std::string_view lines, const request_head& head);
/// Whether Connection of an answer names this field, which then does not pass.
[[nodiscard]] bool connection_names(const response_head& head, std::string_view name);

/// The number in Max-Forwards; nothing if there is none, or if it is no number.
[[nodiscard]] std::optional<std::uint64_t> forwards_left(const request_head& head) noexcept;

/// Whether options.trusted contains the peer.
[[nodiscard]] bool trusts(const proxy_options& options, const address& peer) noexcept;

}  // namespace heddle::http::detail
