// SPDX-License-Identifier: MIT
// The client and its resolver: hosts are found at a name server of the test's, and all addresses
// of a host are tried.
#include "client/harness.hh"
#include "heddle/client/connect.hh"
#include "names/name_server.hh"

namespace heddle::test {
namespace {

sent_list loopbacks(const asked_name& q) {
  made_answer a(q);
  if (q.name != "web.test") return now(a.code(3).soa(60, 60));
  if (q.type == type_aaaa) return now(a.aaaa(q.name, 60, "::1"));  // where nothing listens
  return now(a.a(q.name, 60, "127.0.0.1"));
}

task<http::response> say_host(http::request& r) {
  co_return http::response(200).text(std::string(r.header("host")));
}

DRIVER_TEST(client_names, "hosts are found by the client's resolver, and each address is tried") {
  if (!names::asks_servers()) GTEST_SKIP() << "without c-ares";
  runtime rt(make());
  rt.run(with_name_server(loopbacks, [](name_server& server) -> task<> {
    const auto resolver = std::make_shared<names::resolver>(asking({server.at()}));
    co_await with_server(say_host, {}, [&server, resolver](address at, http::server&) -> task<> {
      http::client_options o;
      o.resolver = resolver;
      http::client web(o), other(o);
      const std::string where = "web.test:" + std::to_string(at.port());
      const http::fetched page = co_await web.get("http://" + where + "/");
      EXPECT_EQ(page.body, where);
      const http::fetched same = co_await other.get("http://" + where + "/");
      EXPECT_EQ(same.body, where);
      EXPECT_EQ(server.count(), 2u);  // the second client has the answers of the first
      const tcp_stream raw = co_await connect_first(*resolver, "web.test", at.port());
      EXPECT_EQ(raw.peer(), at);
      const std::string said =
          co_await error_of(web.get("http://none.example.org/"), std::errc::address_not_available);
      EXPECT_NE(said.find("cannot find none.example.org: there is no such name"), std::string::npos)
          << said;
    });
  }));
}

}  // namespace
}  // namespace heddle::test
