// SPDX-License-Identifier: MIT
// A site whose pages lie in files (Krohn and others, 2007, 7.1): page_site [PORT] [FOLDER]. Edit
// examples/pages/index.page while it runs: the change shows within a second.
// curl -N "http://127.0.0.1:8080/?q=rain"
#include <cstdio>
#include <cstdlib>
#include <string>

#include "heddle/client/page_fetch.hh"
#include "heddle/heddle.hh"
#include "heddle/net/provider.hh"
#include "heddle/web/page_files.hh"
#include "heddle/web/router.hh"
#include "heddle/web/server.hh"

using namespace heddle;
using namespace std::chrono_literals;

/// The source `query`: a database that answers after a moment.
task<http::page_value> query(http::source_call call) {
  static int visits = 0;
  co_await sleep_for(5ms);
  if (call.text() == "visits") co_return ++visits;
  if (call.text() != "news")
    throw failure(std::make_error_code(std::errc::invalid_argument), "no table " + call.text());
  http::page_value news = http::page_value::list();
  for (const char* title : {"Rain & wind", "<No> news"}) {
    http::page_value tags = http::page_value::list();
    tags.add("today");
    http::page_value one;
    one.set("title", title).set("url", "/news?about=" + std::to_string(news.items().size()));
    one.set("tags", std::move(tags));
    news.add(std::move(one));
  }
  co_return news;
}

task<> serve(std::uint16_t port, std::string folder) {
  http::page_files pages(std::move(folder));
  pages.source("query", &query);
  http::page_fetch_options allowed;
  allowed.origins = {"http://127.0.0.1:7001"};
  pages.source("fetch", http::fetch_source(std::move(allowed)));
  http::router routes;
  routes.get("/{path...}", [&](http::request& r) { return pages.answer(r); });
  auto [door, at] = net::from_environment().listen(address::loopback(port));
  std::printf("http://%s/\n", at.to_string().c_str());
  std::fflush(stdout);
  co_await http::serve_until_signal(std::move(door), std::move(routes));
}

int main(int argc, char** argv) {
  runtime rt;
  rt.run(serve(static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 8080),
               argc > 2 ? argv[2] : "examples/pages"));
}
