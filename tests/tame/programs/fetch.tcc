// SPDX-License-Identifier: MIT
// Parallel fetches from several servers with a window, a time limit each, a second try, and a
// hedged request: the paper's section 3.2 as a program. Written before the translator was.
// out: serial: 6 pages, 33 bytes, most at once 1
// out: windowed: 6 pages, 33 bytes, most at once 3
// out: parallel: 6 pages, 33 bytes, most at once 6
// out: /slow: timed out
// out: /missing: error -2
// out: /flaky: 7 bytes after 2 tries
// out: hedged: from the second
// out: canceled: 1 of 3 came in time
#include <tamer/bufferedio.hh>
#include <tamer/fd.hh>
#include <tamer/tamer.hh>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

using namespace tamer;

namespace {

// A server that answers "GET path" by a length and that many bytes.

struct gauge {
  int now = 0;
  int most = 0;
  void enter() { most = std::max(most, ++now); }
  void leave() { --now; }
};

gauge served;
std::map<std::string, int> asked;

tamed void respond(fd cfd) {
  tvars {
    buffer in;
    std::string line, path;
    int r(0);
    char head[32];
  }
  served.enter();
  twait { in.take_until(cfd, '\n', 1024, line, make_event(r)); }
  if (r == 0 && line.size() > 5 && line.compare(0, 4, "GET ") == 0) {
    path = line.substr(4, line.size() - 5);
    ++asked[path];
    // Every page takes a while; one takes very long.
    twait { at_delay_msec(path == "/slow" ? 500 : 4, make_event()); }
    if (path == "/missing") {
      twait { cfd.write("-2\n", make_event(r)); }
    } else if (path == "/flaky" && asked[path] == 1) {
      cfd.close();  // breaks the first try
    } else {
      snprintf(head, sizeof(head), "%d\n", int(path.size()) + 1);
      twait { cfd.write(std::string(head) + path + "\n", make_event(r)); }
    }
  }
  served.leave();
  cfd.close();
}

tamed void serve(fd listener) {
  tvars { fd cfd; }
  while (listener) {
    twait { listener.accept(make_event(cfd)); }
    if (cfd) respond(cfd);
  }
}

// The client.

int port = 0;

/// Fetches one page; `done` gets its length, or a negative error.
tamed void fetch_once(std::string path, event<int> done) {
  tvars {
    fd f;
    buffer in;
    std::string head, body;
    int r(0), len(0);
    in_addr here;
  }
  here.s_addr = htonl(INADDR_LOOPBACK);
  twait { tcp_connect(here, port, make_event(f)); }
  if (!f) {
    done.trigger(f.error());
    return;
  }
  twait { f.write("GET " + path + "\n", make_event(r)); }
  if (r == 0)
    twait { in.take_until(f, '\n', 32, head, make_event(r)); }
  if (r < 0) {
    done.trigger(r);
    return;
  }
  len = atoi(head.c_str());
  if (len > 0)
    twait { in.take_until(f, '\n', 4096, body, make_event(r)); }
  f.close();
  done.trigger(r < 0 ? r : len < 0 ? len : int(body.size()));
}

tamed void serial(const std::vector<std::string>& paths, std::vector<int>& sizes, event<> done) {
  tvars { size_t i; }
  for (i = 0; i < paths.size(); ++i)
    twait { fetch_once(paths[i], make_event(sizes[i])); }
  done.trigger();
}

tamed void parallel(const std::vector<std::string>& paths, std::vector<int>& sizes, event<> done) {
  twait {
    for (size_t i = 0; i < paths.size(); ++i) fetch_once(paths[i], make_event(sizes[i]));
  }
  done.trigger();
}

tamed void windowed(const std::vector<std::string>& paths, std::vector<int>& sizes, size_t window,
                    event<> done) {
  tvars {
    size_t sent(0), received(0);
    rendezvous<> r;
  }
  while (received < paths.size())
    if (sent < paths.size() && sent - received < window) {
      fetch_once(paths[sent], make_event(r, sizes[sent]));
      ++sent;
    } else {
      twait(r);
      ++received;
    }
  done.trigger();
}

/// Tries again when the connection breaks.
tamed void stubborn(std::string path, int tries, event<int, int> done) {
  tvars { int i, size(-1); }
  for (i = 1; i <= tries; ++i) {
    twait { fetch_once(path, make_event(size)); }
    if (size != -EPIPE && size != -ECONNRESET) break;
  }
  done.trigger(size, std::min(i, tries));
}

/// Asks again after a delay, and takes the answer that comes first.
tamed void hedged(std::string first, std::string second, event<int> done) {
  tvars {
    rendezvous<int> r;
    int which, size(0), other(0);
  }
  fetch_once(first, make_event(r, 1, size));
  at_delay_msec(8, make_event(r, 0));
  twait(r, which);
  if (which == 0) {
    fetch_once(second, make_event(r, 2, other));
    twait(r, which);
  }
  r.clear();
  done.trigger(which);
}

void report(const char* how, const std::vector<int>& sizes) {
  int bytes = 0, pages = 0;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] > 0) {
      bytes += sizes[i];
      ++pages;
    }
  printf("%s: %d pages, %d bytes, most at once %d\n", how, pages, bytes, served.most);
  served.most = 0;
}

tamed void program(fd listener) {
  tvars {
    std::vector<std::string> paths;
    std::vector<int> sizes;
    int size, tries, outcome, which, came(0), i;
    rendezvous<int> some;
  }
  for (i = 0; i < 6; ++i) paths.push_back("/" + std::string(1 + i, 'p'));

  sizes.assign(6, 0);
  twait { serial(paths, sizes, make_event()); }
  report("serial", sizes);
  sizes.assign(6, 0);
  twait { windowed(paths, sizes, 3, make_event()); }
  report("windowed", sizes);
  sizes.assign(6, 0);
  twait { parallel(paths, sizes, make_event()); }
  report("parallel", sizes);

  twait { fetch_once("/slow", with_timeout_msec(20, make_event(size), outcome)); }
  printf("/slow: %s\n", outcome == -ETIMEDOUT ? "timed out" : "came");
  twait { fetch_once("/missing", make_event(size)); }
  printf("/missing: error %d\n", size);
  twait { stubborn("/flaky", 3, make_event(size, tries)); }
  printf("/flaky: %d bytes after %d tries\n", size, tries);
  twait { hedged("/slow", "/fast", make_event(which)); }
  printf("hedged: from the %s\n", which == 2 ? "second" : "first");

  // Three at once, and no more patience than for the quickest.
  fetch_once("/slow", make_event(some, 1, sizes[0]));
  fetch_once("/a", make_event(some, 2, sizes[1]));
  fetch_once("/slow", make_event(some, 3, sizes[2]));
  at_delay_msec(60, make_event(some, 0));
  while (some.has_events()) {
    twait(some, which);
    if (which == 0) break;
    ++came;
  }
  some.clear();
  printf("canceled: %d of 3 came in time\n", came);
  listener.close();
  break_loop();
}

}  // namespace

int main() {
  initialize();
  fd listener = tcp_listen(0);
  sockaddr_in here;
  socklen_t len = sizeof(here);
  getsockname(listener.value(), (sockaddr*)&here, &len);
  port = ntohs(here.sin_port);
  serve(listener);
  program(listener);
  loop();
  cleanup();
}
