// SPDX-License-Identifier: MIT
// Rules F in the dialect: descriptors and buffers.
// out: all held
#include <tamer/bufferedio.hh>
#include <tamer/fd.hh>
#include <tamer/tamer.hh>

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "check.h"
#include "heddle/base/sanitizer.hh"

using namespace tamer;

tamed void counted_descriptors(event<> done) {
  tvars { fd a, b, copy; char x[4]; size_t n(9); int r(1), number; }
  check(!a && a.error() == -EBADF);
  fd::pipe(a, b);
  number = a.value();
  copy = a;
  a = fd();
  check(copy.value() == number);                // F1: a copy keeps it open
  twait {
    copy.read(x, 4, n, make_event(r));
    at_asap(fun_event([](fd* f) { f->close(); }, &copy));
  }
  check(r == -ECANCELED && n == 0 && !copy);
  twait { copy.read(x, 4, n, make_event(r)); }
  check(r == -EBADF);
  done();
}

tamed void reads(event<> done) {
  tvars { fd a, b; char x[8]; size_t n, m; int r(1), s(1); char y[8]; rendezvous<> rv; }
  fd::pipe(a, b);
  twait {
    a.read(x, 6, n, make_event(r));             // F2: fills the buffer, in parts
    b.write("abc", make_event(s));
    at_delay_msec(100, fun_event([](fd* f, size_t* now) {
      check(*now == 3);                         // F2: the count is current
      f->write("defgh", event<int>());
    }, &b, &n));
    at_delay_msec(100, fun_event([](fd* f) { static int ignored; ignored = int(::write(f->value(), "defgh", 5)); (void)ignored; }, &b));
  }
  check(r == 0 && n == 6 && std::string(x, 6) == "abcdef");
  twait { a.read_once(y, 8, n, make_event(r)); }
  check(r == 0 && n == 2 && std::string(y, 2) == "gh");
  twait {                                       // F3: in the order of the calls
    a.read(x, 2, n, make_event(r));
    a.read(y, 2, m, make_event(s));
    at_asap(fun_event([](fd* f) { static int ignored; ignored = int(::write(f->value(), "1234", 4)); (void)ignored; }, &b));
  }
  check(std::string(x, 2) == "12" && std::string(y, 2) == "34");
  twait { a.read(x, 2, n, with_timeout_msec(3, make_event(r), s)); }   // F4
  check(s == -ETIMEDOUT && n == 0);
  check(::write(b.value(), "ij", 2) == 2);
  twait { a.read(x, 8, add_timeout_msec(3, make_event(n, r))); }
  check(r == -ETIMEDOUT && n == 2 && std::string(x, 2) == "ij");       // F2 again
  b.close();
  twait { a.read(x, 8, n, make_event(r)); }
  check(r == 0 && n == 0);                      // F2: the end of the file
  done();
}

tamed void writes(event<> done) {
  tvars { fd a, b; int r(1), s(1); std::string big(300000, 'x'), got; char x[4096]; size_t n(1), sent; }
  fd::pipe(a, b);
  twait {
    b.write(big + "end", sent, make_event(r));  // F5: the string is kept
    while (got.size() < 300003) {
      twait { a.read_once(x, sizeof x, n, make_event(s)); }
      got.append(x, n);
    }
  }
  check(r == 0 && sent == 300003 && got.substr(300000) == "end");
  a.close();
  twait { b.write("x", make_event(r)); }
  check(r == -EPIPE);                           // F5
  done();
}

// A descriptor that blocks: a write larger than its room waits in the runtime, not in the call, so
// that the reader of the same worker goes on.
tamed void blocking_writes(bool sockets, event<> done) {
  tvars { fd a, b; int ends[2], r(1), s(1); std::string big(700000, 'y'), got; char x[65536];
          size_t n(1), sent; iovec parts[2]; }
  check((sockets ? ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : ::pipe(ends)) == 0);
  a = fd(ends[0]);
  b = fd(ends[1]);
  parts[0] = parts[1] = iovec{&big[0], big.size()};
  twait {
    b.write(big, sent, make_event(r));
    while (got.size() < big.size()) {
      twait { a.read_once(x, sizeof x, n, make_event(s)); }
      got.append(x, n);
    }
  }
  check(r == 0 && sent == big.size() && got == big);
  got.clear();
  twait {
    b.write(parts, 2, sent, make_event(r));
    while (got.size() < 2 * big.size()) {
      twait { a.read_once(x, sizeof x, n, make_event(s)); }
      got.append(x, n);
    }
  }
  check(r == 0 && sent == 2 * big.size() && got == big + big);
  done();
}

tamed void lines(event<> done) {
  tvars { fd a, b; buffer in; std::string s; int r(1); size_t n; }
  fd::pipe(a, b);
  twait { b.write("one\ntwo\nthree", make_event(r)); }
  twait { in.take_until(a, '\n', 100, s, make_event(r)); }   // F6
  check(r == 0 && s == "one\n");
  twait { in.fill_until(a, '\n', 100, n, make_event(r)); }
  check(r == 0 && n == 4 && in.take(n) == "two\n");
  twait { in.take_until(a, '\n', 3, s, make_event(r)); }
  check(r == -E2BIG);
  b.close();
  twait { in.take_until(a, '\n', 100, s, make_event(r)); }
  check(r == -EPIPE && in.size() == 5);
  done();
}

static int served = 0;

tamed void serve_one(fd f) {
  tvars { char c; size_t n; int r; }
  twait { f.read(&c, 1, n, make_event(r)); }
  twait { f.write(&c, 1, n, make_event(r)); }
  ++served;
}
tamed void serve(fd listener, int clients) {
  tvars { fd f; int i; }
  for (i = 0; i < clients; ++i) {
    twait { listener.accept(make_event(f)); }
    serve_one(f);
  }
}
tamed void client(int port, event<int> done) {
  tvars { fd f; char c('q'), d; size_t n; int r; in_addr here; }
  here.s_addr = htonl(INADDR_LOOPBACK);
  twait { tcp_connect(here, port, make_event(f)); }
  twait { f.write(&c, 1, n, make_event(r)); }
  twait { f.read(&d, 1, n, make_event(r)); }
  f.shutdown(SHUT_RDWR);
  done(d == c);
}
tamed void hundreds(event<> done) {
  tvars { fd listener = tcp_listen(0); sockaddr_in at; socklen_t len(sizeof at); std::vector<int> ok(200); int i, all(0); }
  check(listener);                              // F7: picks a port
  getsockname(listener.value(), (sockaddr*)&at, &len);
  serve(listener, 200);
  twait {
    for (i = 0; i < 200; ++i) client(ntohs(at.sin_port), make_event(ok[i]));
  }
  for (i = 0; i < 200; ++i) all += ok[i];
  check(all == 200 && served == 200);
  done();
}

tamed void sockets(event<> done) {
  tvars { fd a, b, f; int r(1), code(7); event<> closed; rendezvous<int> rv; int i; in_addr nobody; }
  fd::socketpair(AF_UNIX, SOCK_STREAM, 0, a, b);
  a.at_close(make_event(rv, 1));
  at_fd_shutdown(b.value(), make_event(rv, 2));
  at_delay_msec(2, fun_event([](fd* f) { f->shutdown(SHUT_WR); }, &a));
  twait(rv, i);
  check(i == 2);                                // D7
  a.close();
  twait(rv, i);
  check(i == 1);
  nobody.s_addr = htonl(INADDR_LOOPBACK);
  twait { tcp_connect(nobody, 1, make_event(f)); }
  check(!f && f.error() == -ECONNREFUSED);
  twait { at_fd_read(b.value(), with_timeout_msec(50, make_event(code), r)); }
  check(r == 0 && (code == 0 || code == -EPIPE));
  done();
}

// A program asks again at once when accept fails. No descriptor is left: others must run in between,
// and the connection must not be lost.
tamed void none_left(event<> done) {
  tvars { fd listener = tcp_listen(0), caller, f; sockaddr_in at; socklen_t len(sizeof at); std::vector<int> taken; int limit(fd::open_limit()), refused(0), turns(0), n; int* end(0); event<int> out; }
  taken.resize(1);
  end = taken.data();
  out = output_event(end);                      // an iterator says what it points to
  out(7);
  check(taken[0] == 7 && end == taken.data() + 1);
  taken.clear();
  getsockname(listener.value(), (sockaddr*)&at, &len);
  twait { tcp_connect(at.sin_addr, ntohs(at.sin_port), make_event(caller)); }
  check(caller);
  check(fd::open_limit(64) == 64 && fd::open_limit() == 64);
  while ((n = ::dup(0)) >= 0) taken.push_back(n);
  at_delay_msec(25, fun_event([](std::vector<int>* all) { for (int each : *all) ::close(each); }, &taken));
  while (true) {
    at_asap(fun_event([](int* t) { ++*t; }, &turns));
    twait { listener.accept(make_event(f)); }
    if (f) break;
    check(f.error() == -EMFILE);
    ++refused;
  }
  check(refused >= 1 && refused < 10 && turns >= refused);
  check(fd::open_limit(limit) == limit);
  done();
}

tamed void everything() {
  twait { at_asap(make_event()); }
  twait { counted_descriptors(make_event()); }
  twait { reads(make_event()); }
  twait { writes(make_event()); }
  twait { blocking_writes(true, make_event()); }
  twait { blocking_writes(false, make_event()); }
  twait { lines(make_event()); }
  twait { hundreds(make_event()); }
  twait { sockets(make_event()); }
#if !HEDDLE_ASAN  // UBSan's checks open a pipe, and find errors where they cannot
  twait { none_left(make_event()); }
#endif
}

int main() {
  tamer::initialize();
  everything();
  tamer::loop();
  tamer::cleanup();
  return end_of_checks();
}
