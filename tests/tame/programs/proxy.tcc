// SPDX-License-Identifier: MIT
// A proxy between clients and an echo server: bytes both ways at once, a limit on connections by a
// lock, a log through a channel, and connections that die with their tunnel. Written before the
// translator was.
// out: client 1: 3 of 3 lines came back
// out: client 2: 3 of 3 lines came back
// out: client 3: 3 of 3 lines came back
// out: log: open 1
// out: log: open 2
// out: log: open 3
// out: log: closed after 72 bytes
// out: log: closed after 72 bytes
// out: log: closed after 72 bytes
// out: client 4: 0 of 3 lines came back
// out: log: no server
// out: large: 200000 bytes came back
// out: proxy: at most 2 at once, 0 open
#include <tamer/bufferedio.hh>
#include <tamer/channel.hh>
#include <tamer/fd.hh>
#include <tamer/lock.hh>
#include <tamer/tamer.hh>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

using tamer::event;
using tamer::fd;

namespace {

tamer::channel<std::string> log_lines;
std::vector<std::string> log_kept;

tamed void keep_log() {
  tvars { std::string line; }
  while (true) {
    twait volatile { log_lines.pop_front(make_event(line)); }
    log_kept.push_back(line);
  }
}

/// At most `n` holders at once, in order.
class permits {
 public:
  explicit permits(int n) : free_(n) {}
  tamed void take(event<> done) {
    if (free_ > 0) {
      --free_;
      done();
    } else {
      waiting_.push_back(done);
    }
  }
  void give() {
    while (!waiting_.empty()) {
      event<> next = waiting_.front();
      waiting_.erase(waiting_.begin());
      if (next) {
        next();
        return;
      }
    }
    ++free_;
  }

 private:
  int free_;
  std::vector<event<> > waiting_;
};

struct proxy_state {
  explicit proxy_state(int most_at_once) : allowed(most_at_once) {}
  permits allowed;
  int open = 0;
  int most = 0;
  int number = 0;
  int server_port = 0;
};

/// One client and its connection to the server.
class tunnel : public tamer::tamed_class {
 public:
  tunnel(fd client, proxy_state& state) : client_(client), state_(state) {}
  ~tunnel() {
    client_.close();
    server_.close();
  }
  tamed void run();

 private:
  tamed void copy(fd from, fd to, event<> done);

  fd client_, server_;
  proxy_state& state_;
  size_t bytes_ = 0;
};

tamed void tunnel::run() {
  tvars {
    in_addr here;
    tamer::rendezvous<int> ends;
    int side;
    char text[64];
  }
  twait { state_.allowed.take(make_event()); }
  state_.most = std::max(state_.most, ++state_.open);
  here.s_addr = htonl(INADDR_LOOPBACK);
  twait { tamer::tcp_connect(here, state_.server_port, make_event(server_)); }
  if (server_) {
    snprintf(text, sizeof(text), "open %d", ++state_.number);
    log_lines.push_back(text);
    copy(client_, server_, make_event(ends, 0));
    copy(server_, client_, make_event(ends, 1));
    twait(ends, side);
    // The other direction ends with the tunnel; what the server still says is passed on.
    if (side == 0) {
      server_.shutdown(SHUT_WR);
      twait(ends, side);
    }
    snprintf(text, sizeof(text), "closed after %d bytes", int(bytes_));
    log_lines.push_back(text);
  } else {
    log_lines.push_back("no server");
  }
  --state_.open;
  state_.allowed.give();
  delete this;
}

tamed void tunnel::copy(fd from, fd to, event<> done) {
  tvars { char room[4096]; size_t got, put; int r; }
  while (from && to) {
    twait { from.read_once(room, sizeof(room), got, make_event(r)); }
    if (r < 0 || got == 0) break;
    twait { to.write(room, got, put, make_event(r)); }
    if (r < 0) break;
    bytes_ += put;
  }
  done();
}

tamed void accept_all(fd listener, proxy_state& state) {
  tvars { fd client; }
  while (listener) {
    twait { listener.accept(make_event(client)); }
    if (client) (new tunnel(client, state))->run();
  }
}

tamed void echo(fd f) {
  tvars { char room[1000]; size_t got, put; int r(0); }
  while (r >= 0) {
    twait { f.read_once(room, sizeof(room), got, make_event(r)); }
    if (got == 0) break;
    twait { f.write(room, got, put, make_event(r)); }
  }
  f.close();
}
tamed void echo_server(fd listener) {
  tvars { fd f; }
  while (listener) {
    twait { listener.accept(make_event(f)); }
    if (f) echo(f);
  }
}

tamed void client(int which, int port, event<> done) {
  tvars {
    fd f;
    tamer::buffer in;
    std::string line;
    int i, r, back(0);
    in_addr here;
  }
  here.s_addr = htonl(INADDR_LOOPBACK);
  twait { tamer::tcp_connect(here, port, make_event(f)); }
  for (i = 0; i < 3; ++i) {
    twait { f.write("hello proxy\n", make_event(r)); }
    twait { in.take_until(f, '\n', 100, line, make_event(r)); }
    if (r < 0) break;
    if (line == "hello proxy\n") ++back;
  }
  printf("client %d: %d of 3 lines came back\n", which, back);
  f.close();
  done();
}

tamed void large(int port, event<> done) {
  tvars {
    fd f;
    in_addr here;
    std::string sent(200000, 'z'), got;
    char room[8192];
    size_t n;
    int r, w;
  }
  here.s_addr = htonl(INADDR_LOOPBACK);
  twait { tamer::tcp_connect(here, port, make_event(f)); }
  twait {
    f.write(sent, make_event(w));
    while (got.size() < sent.size()) {
      twait { f.read_once(room, sizeof(room), n, make_event(r)); }
      if (n == 0) break;
      got.append(room, n);
    }
  }
  printf("large: %d bytes came back\n", got == sent ? int(got.size()) : -1);
  f.close();
  done();
}

void print_log() {
  for (size_t i = 0; i < log_kept.size(); ++i) printf("log: %s\n", log_kept[i].c_str());
  log_kept.clear();
}

int port_of(const fd& listener) {
  sockaddr_in here;
  socklen_t len = sizeof(here);
  getsockname(listener.value(), (sockaddr*)&here, &len);
  return ntohs(here.sin_port);
}

tamed void program(fd proxy_listener, fd echo_listener, proxy_state& state) {
  tvars { int port = port_of(proxy_listener), real = state.server_port; int i; }
  twait {
    for (i = 1; i <= 3; ++i) client(i, port, make_event());
  }
  for (i = 0; log_kept.size() < 6 && i != 500; ++i)
    twait { tamer::at_delay_msec(20, make_event()); }
  // The lines of one kind together: which tunnel ends first is nobody's business.
  std::sort(log_kept.begin(), log_kept.end(), [](const std::string& a, const std::string& b) {
    return a[0] != b[0] ? a[0] > b[0] : a < b;
  });
  print_log();
  state.server_port = 1;
  twait { client(4, port, make_event()); }
  for (i = 0; log_kept.empty() && i != 500; ++i)
    twait { tamer::at_delay_msec(20, make_event()); }
  print_log();
  state.server_port = real;
  twait { large(port, make_event()); }
  for (i = 0; state.open != 0 && i != 500; ++i)
    twait { tamer::at_delay_msec(20, make_event()); }
  printf("proxy: at most %d at once, %d open\n", state.most, state.open);
  proxy_listener.close();
  echo_listener.close();
}

}  // namespace

int main() {
  tamer::initialize();
  proxy_state state(2);
  fd echo_listener = tamer::tcp_listen(0);
  fd proxy_listener = tamer::tcp_listen(0);
  state.server_port = port_of(echo_listener);
  keep_log();
  echo_server(echo_listener);
  accept_all(proxy_listener, state);
  program(proxy_listener, echo_listener, state);
  tamer::loop();
  tamer::cleanup();
}
