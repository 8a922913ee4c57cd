// SPDX-License-Identifier: MIT
// http.draft as tasks of C++.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "heddle/heddle.hh"
#include "heddle/io/file.hh"
#include "heddle/io/tcp.hh"
#include "http_want.h"
#include "options.hh"

using namespace heddle;

namespace {

std::string pages[3];

heddle_view view_of(byte_view b) { return {reinterpret_cast<const char*>(b.data()), b.size()}; }
byte_view page(const want& q) { return byte_view(pages[q.page].data(), pages[q.page].size()); }

/// A request that came in pieces, and those behind it; whether the connection stays.
task<bool> gather(tcp_stream& peer, std::string all) {
  want q{};
  for (;;) {
    switch (http_want({all.data(), all.size()}, &q)) {
      case 2:
        co_await peer.write(page(q));
        if (!q.keep) co_return false;
        all.erase(0, q.used);
        if (all.empty()) co_return true;
        break;
      case 0: {
        received more = co_await peer.receive();
        if (!more || all.size() + more.size() > 16384) co_return false;
        all += more.text();
        break;
      }
      default:
        co_return false;
    }
  }
}

task<> session(tcp_stream peer) {
  while (received in = co_await peer.receive()) {
    want q{};
    while (in.size() != 0) {
      const parsed how = http_want(view_of(in.data()), &q);
      if (how == 2) {
        co_await peer.write(page(q));
        if (!q.keep) co_return;
        in.remove_prefix(q.used);
      } else if (how == 0) {
        std::string begin(in.text());
        if (!co_await gather(peer, std::move(begin))) co_return;
        break;
      } else {
        co_return;
      }
    }
  }
}

std::string load(const std::string& path) {
  std::FILE* const f = std::fopen(path.c_str(), "rb");
  if (f == nullptr) throw std::runtime_error("cannot open " + path);
  std::string body(1 << 20, '\0');
  body.resize(std::fread(body.data(), 1, body.size(), f));
  std::fclose(f);
  std::string head(1024, '\0');
  heddle_buffer b{};
  b.data = head.data();
  b.capacity = head.size();
  http_head(&b, static_cast<std::int64_t>(body.size()));
  return head.substr(0, b.end) + body;
}

task<> serve(std::uint16_t port) {
  tcp_listener l = tcp_listener::listen(address::loopback(port));
  std::printf("http on port %u\n", l.local().port());
  std::fflush(stdout);
  for (;;) spawn(session(co_await l.accept()));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string root = argc > 2 ? argv[2] : "site";
  const char* const names[] = {"100B.txt", "16KB.txt", "128KB.txt"};
  for (int i = 0; i != 3; ++i) pages[i] = load(root + "/" + names[i]);
  runtime rt(from_environment());
  rt.run(serve(static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 8080)));
}
