// SPDX-License-Identifier: MIT
// A web server over TLS, and a client that checks it: https PORT CERT KEY [AUTHORITY].
// Try it: heddle cert; https 8443 localhost.pem localhost.key
// Needs: room tls
#include <cstdio>
#include <cstdlib>

#include <heddle/heddle.hh>
#include <heddle/net/provider.hh>
#include <heddle/tls/stream.hh>
#include <heddle/web/server.hh>

using namespace heddle;

task<http::response> greet(http::request& r) {
  co_return http::response(200).text("hello over TLS, " + std::string(r.path()) + "\n");
}

/// Prints the negotiated parameters of each handshake, in one line.
void log_handshake(const tls::handshake_report& r) {
  if (!r.agreed.trouble.empty()) {
    std::fprintf(stderr, "%s: %s\n", r.peer.to_string().c_str(), r.agreed.trouble.c_str());
    return;
  }
  std::fprintf(stderr, "%s: %s, %s, %s%s\n", r.peer.to_string().c_str(), r.agreed.protocol.c_str(),
               r.agreed.cipher.c_str(), r.agreed.group.c_str(),
               r.agreed.resumed ? ", resumed" : "");
}

/// The same server seen by a client: it must know the authority, and the name must be right.
task<> look(net::provider net, address at, std::string authority) {
  const tls::client_context trust({.authorities = std::move(authority)});
  try {
    stream conn = co_await tls::connect(co_await net.connect(at), "localhost", trust);
    co_await conn.write("GET /me HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    while (received in = co_await conn.receive())
      std::fwrite(in.data().data(), 1, in.size(), stdout);
  } catch (const failure& e) {
    std::fprintf(stderr, "%s\n", e.what());
  }
}

task<> program(int argc, char** argv) {
  const tls::server_context site(
      {.certificates = {{argv[2], argv[3]}}, .alpn = {"h2", "http/1.1"}, .log = log_handshake});
  const net::provider net = net::from_environment();
  auto [door, at] = net.listen(address::loopback(static_cast<std::uint16_t>(std::atoi(argv[1]))));
  std::printf("https://%s/\n", at.to_string().c_str());
  std::fflush(stdout);
  if (argc > 4) {
    co_await any(http::serve(tls::listen(door, site), greet), look(net, at, argv[4]));
    co_return;
  }
  co_await http::serve_until_signal(tls::listen(door, site), greet);
}

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: https PORT CERT KEY [AUTHORITY]\n", stderr);
    return 2;
  }
  runtime rt;
  rt.run(program(argc, argv));
}
