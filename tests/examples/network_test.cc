// SPDX-License-Identifier: MIT
// HEDDLE_NET switches the examples that listen to TCP in the program. It needs root; elsewhere it
// is skipped.
#include <signal.h>

#include <cstdlib>
#include <string>

#include "heddle/heddle.hh"
#include "heddle/io/line_reader.hh"
#include "heddle/io/process.hh"
#include "heddle/io/tcp.hh"
#include "support/namespaces.hh"
#include "support/test.hh"
#include "support/tree.hh"

using namespace heddle;
using namespace std::chrono_literals;
using heddle::test::net_namespace;

namespace {

/// Starts the example, takes the address from its first line, and sends it `ask`; `answer` comes
/// back.
task<> answers_at_device(std::string name, std::string ask, std::string answer) {
  process p = co_await spawn_process({heddle::test::build_dir() + "/examples/" + name, "7777"},
                                     process_options().output(child_stream::pipe));
  line_reader lines(p.output());
  const std::string first(co_await with_timeout(lines.line(), 20s));
  EXPECT_NE(first.find("10.9.0.2:7777"), std::string::npos) << name << " said: " << first;
  stream s = co_await with_timeout(tcp_connect(*address::parse("10.9.0.2:7777")), 20s);
  co_await s.write(std::string_view(ask));
  std::string got(answer.size(), '\0');
  co_await with_timeout(s.read(got), 20s);
  EXPECT_EQ(got, answer) << name;
  p.kill(SIGTERM);
  static_cast<void>(co_await p.wait());
}

}  // namespace

HEDDLE_TEST(examples_network, "HEDDLE_NET switches the examples that listen") {
  const net_namespace own;
  if (!own) GTEST_SKIP() << "it needs root, namespaces and /dev/net/tun";
  const net_namespace::visit in(own);
  const int device = heddle::test::make_tun("tun0", "10.9.0.1", IFF_VNET_HDR | IFF_MULTI_QUEUE);
  if (device < 0) GTEST_SKIP() << "it needs root, namespaces and /dev/net/tun";
  ::close(device);
  ::setenv("HEDDLE_NET", "user:tun0,10.9.0.2/24", 1);
  runtime rt;
  rt.run([]() -> task<> {
    co_await answers_at_device("echo", "hello\n", "hello\n");
    const std::string ask = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    for (const char* name : {"httpd", "chat", "chat_websocket", "front_page", "upload"})
      co_await answers_at_device(name, ask, "HTTP/1.1 200 ");
    for (const char* name : {"echo_websocket", "json_api"})
      co_await answers_at_device(name, ask, "HTTP/1.1 404 ");
  }());
  ::unsetenv("HEDDLE_NET");
}
