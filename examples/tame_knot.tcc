// SPDX-License-Identifier: MIT
// Tame source: a web server in the manner of Knot (section 8.1 of the paper): files from a cache,
// one tamed function a connection. `tame_knot [PORT [FOLDER]]` serves; without arguments it asks
// itself for two pages. HEDDLE_WORKERS puts more cores to work: a connection has one of 16 colors,
// and each color has a cache of its own, so nothing needs a lock.
// workers: 1 2 4
// out: HTTP/1.1 200 OK, 12 bytes
// out: HTTP/1.1 404 Not Found, 10 bytes
// out: 2 requests, 1 file in the cache
#include <tamer/bufferedio.hh>
#include <tamer/fd.hh>
#include <tamer/tamer.hh>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

using namespace tamer;

static std::string folder = "/nowhere";
static std::atomic<bool> stopping{false};

// What the connections of one color share.
struct shard {
  std::map<std::string, std::string> cache;
  int requests = 0;
};
static const int colors = 16;
static shard shards[colors];  // shards[i] belongs to color i + 1

static const std::string* load(std::map<std::string, std::string>& cache, const std::string& path) {
  std::map<std::string, std::string>::iterator it = cache.find(path);
  if (it != cache.end()) return &it->second;
  if (path == "/hello") return &(cache[path] = "hello, knot\n");
  if (path.find("..") != std::string::npos) return 0;
  std::ifstream in((folder + path).c_str(), std::ios::binary);
  if (!in) return 0;
  std::ostringstream all;
  all << in.rdbuf();
  return &(cache[path] = all.str());
}

tamed void serve_connection(fd f, shard* mine) {
  tvars { buffer in; std::string line, path, out; const std::string* body; int r; bool keep(true); }
  while (keep && !stopping) {
    twait { in.take_until(f, '\n', 8192, line, with_timeout_sec(15, make_event(r))); }
    if (r < 0 || line.compare(0, 4, "GET ") != 0) break;
    path = line.substr(4, line.find(' ', 4) - 4);
    keep = line.find("HTTP/1.1") != std::string::npos;
    do {
      twait { in.take_until(f, '\n', 8192, line, make_event(r)); }
      if (line.compare(0, 17, "Connection: close") == 0) keep = false;
    } while (r == 0 && line.size() > 2);
    ++mine->requests;
    body = load(mine->cache, path);
    out = body ? "HTTP/1.1 200 OK" : "HTTP/1.1 404 Not Found";
    out += "\r\nContent-Length: " + std::to_string(body ? body->size() : 10) + "\r\n\r\n";
    out += body ? *body : "not found\n";
    twait { f.write(out, make_event(r)); }
    if (r < 0) break;
  }
  f.close();
}

tamed void serve(fd listener) {
  tvars { fd f; int i; }
  while (listener) {
    twait { listener.accept(make_event(f)); }
    if (!f) continue;
    i = f.value() % colors;
    in_color(color(i + 1), serve_connection, f, &shards[i]);
  }
}

// Connections end after the request that they are in.
tamed void stop_at_signal(fd listener) {
  twait { at_signal(SIGTERM, make_event()); }
  stopping = true;
  listener.close();
}

tamed void ask(int port, std::string path, event<> done) {
  tvars { fd f; buffer in; std::string status, line; in_addr here; int r, len(0); }
  here.s_addr = htonl(INADDR_LOOPBACK);
  twait { tcp_connect(here, port, make_event(f)); }
  twait { f.write("GET " + path + " HTTP/1.1\r\nConnection: close\r\n\r\n", make_event(r)); }
  twait { in.take_until(f, '\n', 1024, status, make_event(r)); }
  do {
    twait { in.take_until(f, '\n', 1024, line, make_event(r)); }
    if (line.compare(0, 16, "Content-Length: ") == 0) len = atoi(line.c_str() + 16);
  } while (r == 0 && line.size() > 2);
  printf("%s, %d bytes\n", status.substr(0, status.size() - 2).c_str(), len);
  done();
}

static void count(int i, event<int, int> done) {
  done(shards[i].requests, (int)shards[i].cache.size());
}

tamed void ask_ourselves(fd listener, int port) {
  tvars { int i, requests(0), files(0), r, n; }
  twait { ask(port, "/hello", make_event()); }
  twait { ask(port, "/nothing", make_event()); }
  for (i = 0; i < colors; ++i) {
    twait { in_color(color(i + 1), count, i, make_event(r, n)); }
    requests += r;
    files += n;
  }
  printf("%d requests, %d file in the cache\n", requests, files);
  listener.close();
}

int main(int argc, char** argv) {
  tamer::initialize(several_workers);
  fd listener = tcp_listen(argc > 1 ? atoi(argv[1]) : 0, 4096);  // clients that may wait at once
  if (!listener) {
    fprintf(stderr, "listen: %s\n", strerror(-listener.error()));
    return 1;
  }
  if (argc > 2) folder = argv[2];
  sockaddr_in here;
  socklen_t len = sizeof(here);
  getsockname(listener.value(), (sockaddr*)&here, &len);
  serve(listener);
  if (argc > 1) stop_at_signal(listener);
  if (argc == 1) ask_ourselves(listener, ntohs(here.sin_port));
  tamer::loop();
  tamer::cleanup();
}
