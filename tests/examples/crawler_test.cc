// SPDX-License-Identifier: MIT
// The crawler as its users start it, on a site of three pages.
#include <algorithm>

#include "heddle/heddle.hh"
#include "heddle/io/process.hh"
#include "heddle/io/tcp.hh"
#include "heddle/web/server.hh"
#include "support/test.hh"
#include "support/tree.hh"

namespace heddle::test {
namespace {

task<http::response> small_site(http::request& r) {
  const auto page = [](std::string text) {
    return http::response(200).body("text/html", std::move(text));
  };
  if (r.path() == "/")
    co_return page("<a href=\"a/b\"><a href=\"/gone#x\"><a href=\"http://127.0.0.1:1/\">");
  if (r.path() == "/a/b") co_return page("<a href=\"..\"><a href=\"b\">");
  co_return http::response(404).text("no");
}

task<std::string> output_of_crawler() {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  std::vector<std::string> words{build_dir() + "/examples/crawler",
                                 "http://" + door.local().to_string() + "/", "1"};
  http::server web(small_site);
  scope s;
  s.spawn(web.serve(door));
  process_options options;
  options.output(child_stream::pipe).errors(child_stream::null);
  process program = co_await spawn_process(command_line(std::move(words)), options);
  std::string text;
  char part[4096];
  while (const std::size_t n = co_await program.output().read_some(part)) text.append(part, n);
  co_await program.wait();
  web.stop();
  co_await s.join();
  co_return text;
}

HEDDLE_TEST(examples, "crawler visits each page of a site once, and no other site") {
  runtime rt;
  const std::string text = rt.run(output_of_crawler());
  EXPECT_EQ(std::ranges::count(text, '\n'), 4) << text;
  EXPECT_NE(text.find("/a/b\n"), std::string::npos) << text;
  EXPECT_NE(text.find("200 http://127.0.0.1:"), std::string::npos) << text;
  EXPECT_NE(text.find("404 http://127.0.0.1:"), std::string::npos) << text;
  EXPECT_NE(text.find("3 pages over 1 connections\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace heddle::test
