// SPDX-License-Identifier: MIT
// HTTP over a Unix socket, as a service behind a proxy on the same machine: http_unix [PATH].
// Try it: curl --unix-socket PATH http://localhost/
#include <cstdio>
#include <string>

#include <heddle/heddle.hh>
#include <heddle/io/file.hh>
#include <heddle/io/unix.hh>
#include <heddle/web/server.hh>

using namespace heddle;

task<http::response> greet(http::request& r) {
  co_return http::response(200).text("hello over a Unix socket, " + std::string(r.path()) + "\n");
}

task<> program(std::string path) {
  unix_listener door = unix_listener::listen(path);
  std::printf("serving on %s; Ctrl-C stops\n", path.c_str());
  std::fflush(stdout);
  co_await http::serve_until_signal(door, greet);
  if (path[0] != '@') co_await remove_file(path);
}

int main(int argc, char** argv) {
  runtime rt;
  rt.run(program(argc > 1 ? argv[1] : "http_unix.socket"));
}
