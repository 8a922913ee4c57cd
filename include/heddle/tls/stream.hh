// SPDX-License-Identifier: MIT
// TLS over any stream: a connection, a Unix socket, another layer. The result is a stream like any
// other.
//
//   co_await http::serve(tls::listen(tcp_listener::listen(at), site), handler);     // a server
//   stream s = co_await tls::connect(co_await tcp_connect(host, 443), host, tls);   // a client
#pragma once

#include <optional>
#include <string>

#include "heddle/core/task.hh"
#include "heddle/io/listener.hh"
#include "heddle/tls/context.hh"

namespace heddle::tls {

/// Connections of this listener, each in TLS. accept() gives a connection before its handshake,
/// which runs when the stream is first read or written: a slow peer keeps no other waiting.
///
/// Thread: the listener's color. Owns: the listener. Fails: std::bad_alloc.
/// A stream that is given fails as follows, for a reader and for a writer:
///   timed_out: the peer did not finish the handshake in time;
///   permission_denied: the peer's certificate is missing or was not accepted;
///   connection_aborted: no close_notify came: an attacker may have cut the end off;
///   protocol_error: anything else that TLS does not allow. session_of() says what.
[[nodiscard]] listener listen(listener over, server_context site);

/// The server's end over one stream, after the handshake.
/// Cancel: the stream below is closed. Fails: as above; what() says what to do.
[[nodiscard]] task<stream> accept(stream over, server_context site);

/// The client's end over one stream, after the handshake. `host` is the name, or the address, that
/// the server's certificate must be for.
/// Cancel: the stream below is closed. Fails: as above; what() says what to do.
[[nodiscard]] task<stream> connect(stream over, std::string host, client_context tls);
/// As connect() above, with the system's roots, which are read for this one connection.
[[nodiscard]] task<stream> connect(stream over, std::string host);

/// The session of this stream, with the reason if it failed; nothing when it is no TLS stream.
[[nodiscard]] std::optional<session> session_of(const stream& s);

}  // namespace heddle::tls
