// SPDX-License-Identifier: MIT
// WebSocket in the dialect: an echo server and a client of our own.
// out: all held
#include <tamer/fd.hh>
#include <tamer/tamer.hh>
#include <tamer/websocket.hh>

#include <string>

#include "check.h"

tamed void serve_one(tamer::fd cfd) {
  tvars { tamer::http_parser hp(HTTP_REQUEST); tamer::http_message req, res; tamer::websocket_parser wp(HTTP_REQUEST); tamer::websocket_message wreq, wres; }
  twait { hp.receive(cfd, make_event(req)); }
  if (!hp.ok() || !tamer::websocket_handshake::is_request(req)) return;
  tamer::websocket_handshake::response(res, req);
  twait { hp.send(cfd, res, make_event()); }
  while (cfd && wp.ok()) {
    twait { wp.receive(cfd, make_event(wreq)); }
    if (!wreq) break;
    wres.opcode(wreq.opcode()).body(wreq.body());
    twait { wp.send(cfd, wres, make_event()); }
  }
  check(wp.close_code() == 1000);
  cfd.close();
}

// A server may send frames at once: they come in one packet with the 101.
tamed void frames_behind_the_101(tamer::fd a, tamer::fd b) {
  tvars { tamer::http_parser hp(HTTP_RESPONSE), served(HTTP_REQUEST); tamer::http_message req, res; tamer::websocket_parser wp(HTTP_RESPONSE); tamer::websocket_message m; std::string key, answer; int r; }
  req.url("/chat");
  key = tamer::websocket_handshake::request(req);
  twait { hp.send(a, req, make_event()); }
  twait { served.receive(b, make_event(req)); }
  tamer::websocket_handshake::response(res, req);
  answer = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: " +
           res.header("Sec-WebSocket-Accept") + "\r\n\r\n" + std::string("\x81\5first\x82\1", 9);
  twait { b.write(answer, make_event(r)); }
  twait { hp.receive(a, make_event(res)); }
  check(tamer::websocket_handshake::is_response(res, key));
  twait { b.write(std::string("2\x81\5third"), make_event(r)); }  // the rest of the second, and one more
  twait { wp.receive(a, make_event(m)); }
  check(m.text() && m.body() == "first");
  twait { wp.receive(a, make_event(m)); }
  check(m.binary() && m.body() == "2");
  twait { wp.receive(a, make_event(m)); }
  check(m.text() && m.body() == "third");
}

// A frame that RFC 6455 forbids ends the parser.
tamed void refuse(std::string bad) {
  tvars { tamer::fd a, b; tamer::websocket_parser wp(HTTP_REQUEST); tamer::websocket_message m; int r; }
  tamer::fd::socketpair(AF_UNIX, SOCK_STREAM, 0, a, b);
  twait { a.write(bad, make_event(r)); }
  twait { wp.receive(b, make_event(m)); }
  check(!m && !wp.ok());
  a.close();
  b.close();
}

tamed void program(tamer::fd a, tamer::fd b) {
  tvars { tamer::http_parser hp(HTTP_RESPONSE); tamer::http_message req, res; tamer::websocket_parser wp(HTTP_RESPONSE); tamer::websocket_message m; std::string key; size_t sizes[5] = {0, 5, 126, 70000, 1}; int i, r; }
  serve_one(b);
  req.url("/chat");
  key = tamer::websocket_handshake::request(req);
  twait { hp.send(a, req, make_event()); }
  twait { hp.receive(a, make_event(res)); }
  check(tamer::websocket_handshake::is_response(res, key));
  // The example of RFC 6455, section 1.3.
  req.header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
  tamer::websocket_handshake::response(res, req);
  check(res.header("Sec-WebSocket-Accept") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  for (i = 0; i < 5; ++i) {
    twait { wp.send_text(a, std::string(sizes[i], 't'), make_event()); }
    twait { wp.receive(a, make_event(m)); }
    check(m && m.text() && m.body() == std::string(sizes[i], 't'));
  }
  // A ping between the parts of a message: "ab" "cd", masked with zeros.
  twait { a.write(std::string("\x02\x82\0\0\0\0ab\x89\x81\0\0\0\0p\x80\x82\0\0\0\0cd", 23), make_event(r)); }
  twait { wp.receive(a, make_event(m)); }
  check(m.binary() && m.body() == "abcd");
  twait { wp.close(a, 1000, "done", make_event()); }
  twait { wp.receive(a, make_event(m)); }
  check(!m && !wp.ok() && wp.close_code() == 1000);
}

int main() {
  tamer::initialize();
  tamer::fd a, b;
  tamer::fd::socketpair(AF_UNIX, SOCK_STREAM, 0, a, b);
  program(a, b);
  tamer::loop();
  tamer::fd::socketpair(AF_UNIX, SOCK_STREAM, 0, a, b);
  frames_behind_the_101(a, b);
  tamer::loop();
  refuse(std::string("\x81\x82\0\0\0\0\xc0\x80", 8));                               // no UTF-8
  refuse(std::string("\x09\x80\0\0\0\0", 6) + std::string("\x81\x80\0\0\0\0", 6));  // a ping in parts
  refuse(std::string("\x89\xfe\0\x7e\0\0\0\0", 8) + std::string(126, 'p') + std::string("\x81\x80\0\0\0\0", 6));  // a long ping
  tamer::loop();
  tamer::cleanup();
  return end_of_checks();
}
