// SPDX-License-Identifier: MIT
// HTTP messages in the dialect: a server and a client of our own, pipelining, chunks, bad input.
// out: all held
#include <tamer/fd.hh>
#include <tamer/http.hh>
#include <tamer/tamer.hh>

#include <string>

#include "check.h"

static int served = 0;

tamed void serve_one(tamer::fd cfd) {
  tvars { tamer::http_parser hp(HTTP_REQUEST); tamer::http_message req, res; std::string text; }
  while (cfd) {
    twait { hp.receive(cfd, make_event(req)); }
    if (!hp.ok()) break;
    ++served;
    text = req.url() + "|" + req.url_path() + "|";
    for (auto it = req.query_begin(); it != req.query_end(); ++it) text += it->name + "=" + it->value + ";";
    text += "|" + req.header("X-Mine") + "|" + req.body();
    res.clear();
    res.status_code(200).date_header("Date", 0).header("Content-Type", "text/plain").body(text);
    if (req.url() == "/parts") {
      twait { tamer::http_parser::send_response_headers(cfd, res, make_event()); }
      twait { tamer::http_parser::send_response_chunk(cfd, "first,", make_event()); }
      twait { tamer::http_parser::send_response_chunk(cfd, std::string(30, 's'), make_event()); }
      twait { tamer::http_parser::send_response_end(cfd, make_event()); }
    } else {
      twait { hp.send(cfd, res, make_event()); }
    }
    if (!hp.should_keep_alive()) break;
  }
  cfd.close();
}
tamed void serve(tamer::fd listener) {
  tvars { tamer::fd f; }
  while (listener) {
    twait { listener.accept(make_event(f)); }
    serve_one(f);
  }
}

tamed void program(tamer::fd listener, int port) {
  tvars { tamer::fd f; in_addr here; tamer::http_parser hp(HTTP_RESPONSE); tamer::http_message req, res; int r; tamer::buffer in; std::string s; }
  here.s_addr = htonl(INADDR_LOOPBACK);
  twait { tamer::tcp_connect(here, port, make_event(f)); }
  req.method(HTTP_POST).url("/a?x=1%202&y&z=%3d").header("X-Mine", "yes").body("the body");
  twait { hp.send(f, req, make_event()); }
  twait { hp.receive(f, make_event(res)); }
  check(res && res.status_code() == 200 && res.status_message() == "OK");
  check(res.body() == "/a?x=1%202&y&z=%3d|/a|x=1 2;y=;z==;|yes|the body");
  check(res.header("date") == "Thu, 01 Jan 1970 00:00:00 GMT" && res.has_header("CONTENT-TYPE"));
  // Two requests in one piece.
  twait { f.write("GET /1 HTTP/1.1\r\n\r\nPOST /2 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\n", make_event(r)); }
  twait { hp.receive(f, make_event(res)); }
  check(res.body() == "/1|/1|||");
  twait { hp.receive(f, make_event(res)); }
  check(res.body() == "/2|/2|||abc0123456789");
  twait { f.write("GET /parts HTTP/1.1\r\n\r\n", make_event(r)); }
  twait { hp.receive(f, make_event(res)); }
  check(res.body() == "first," + std::string(30, 's') && hp.should_keep_alive());
  twait { f.write("GET /last HTTP/1.0\r\n\r\n", make_event(r)); }
  twait { hp.receive(f, make_event(res)); }
  check(res.ok() && served == 5);
  twait { hp.receive(f, make_event(res)); }
  check(!res && !hp.ok() && res.error() == HPE_INVALID_EOF_STATE);
  f.close();
  for (const char* bad : {"NOPE / HTTP/1.1\r\n\r\n", "GET / HTTP/9\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n",
                          "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                          "POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                          "GET / HTTP/1.1\nX: bare\n\n", "GET /a b HTTP/1.1\r\n\r\n"}) {
    twait { tamer::tcp_connect(here, port, make_event(f)); }
    twait { f.write(bad, make_event(r)); }
    twait { in.take_until(f, '\n', 100, s, make_event(r)); }
    check(r < 0);
    f.close();
  }
  check(served == 5);
  listener.close();
}

// A message may be cut anywhere.
tamed void write_bytes(tamer::fd w, std::string all) {
  tvars { int n; size_t i; }
  for (i = 0; i != all.size(); ++i) {
    twait { w.write(std::string(1, all[i]), make_event(n)); }
    twait { tamer::at_asap(make_event()); }
  }
}
tamed void in_pieces() {
  tvars { tamer::fd r, w; tamer::http_parser hp(HTTP_REQUEST); tamer::http_message req; }
  check(tamer::fd::pipe(r, w) == 0);
  write_bytes(w, "POST /a?b HTTP/1.1\r\nX-Mine:  yes \r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  twait { hp.receive(r, make_event(req)); }
  check(req.ok() && req.method() == HTTP_POST && req.url() == "/a?b" && req.header("X-Mine") == "yes");
  check(req.body() == "abcde" && hp.should_keep_alive());
  w.close();
  r.close();
}

// Answers that others send, right and wrong.
tamed void answers() {
  tvars { tamer::fd r, w; tamer::http_parser hp(HTTP_RESPONSE); tamer::http_message res; int n; size_t i; }
  check(tamer::fd::pipe(r, w) == 0);
  twait { w.write("HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", make_event(n)); }
  twait { hp.receive(r, make_event(res)); }
  check(res.status_code() == 304 && res.body().empty());
  twait { hp.receive(r, make_event(res)); }
  check(res.status_code() == 200 && res.body() == "hi");
  w.close();
  r.close();
  for (i = 0; i != 2; ++i) {
    hp = tamer::http_parser(HTTP_RESPONSE);
    check(tamer::fd::pipe(r, w) == 0);
    twait { w.write(i == 0 ? "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nfffffffffffffffe\r\n"
                           : "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhix", make_event(n)); }
    twait { hp.receive(r, make_event(res)); }
    check(!res && res.error() == (i == 0 ? HPE_INVALID_CHUNK_SIZE : HPE_INVALID_CONTENT_LENGTH));
    w.close();
    r.close();
  }
}

int main() {
  tamer::initialize();
  tamer::fd listener = tamer::tcp_listen(0);
  sockaddr_in at;
  socklen_t len = sizeof(at);
  getsockname(listener.value(), (sockaddr*)&at, &len);
  serve(listener);
  program(listener, ntohs(at.sin_port));
  answers();
  in_pieces();
  tamer::loop();
  tamer::cleanup();
  return end_of_checks();
}
