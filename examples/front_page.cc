// SPDX-License-Identifier: MIT
// A page of twelve parts, one of them slow (Krohn and others, 2007, 7.1): front_page [PORT]. All
// parts are fetched at once, and the browser shows the page up to the slow one meanwhile:
// curl -N http://127.0.0.1:8080/
#include <cstdio>
#include <cstdlib>
#include <string>

#include "heddle/heddle.hh"
#include "heddle/io/blocking.hh"
#include "heddle/net/provider.hh"
#include "heddle/web/page.hh"
#include "heddle/web/server.hh"

using namespace heddle;
using namespace std::chrono_literals;
using http::part;

const http::page front(R"(<!doctype html>
<title>{{title}}</title>
<nav>{{{menu}}}</nav><h1>{{greeting}}</h1>
<ul><li>{{news.1}}<li>{{news.2}}<li>{{news.3}}<li>{{news.4}}</ul>
<p>{{weather}}</p><p>{{load}}</p>
<section>{{{recommended}}}</section>
<footer>{{{banner}}} {{visits}}</footer>
)");

/// Another service, which takes this long.
task<std::string> fetch(std::string what, nanoseconds takes) {
  co_await sleep_for(takes);
  co_return what;
}

std::string load_of_machine() {
  double load[1] = {};
  if (::getloadavg(load, 1) != 1) return "unknown";
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", load[0]);
  return std::string("load ") + text;
}

task<http::response> home(http::request& r) {
  static int visits = 0;
  if (r.path() != "/") co_return http::error_response(404, "try /");
  co_return co_await front.send(
      r, part("title", "Twelve parts"), part("menu", fetch("<a href=\"/\">home</a>", 3ms)),
      part("greeting", fetch("Hello, <you>", 5ms)), part("news.1", fetch("one", 20ms)),
      part("news.2", fetch("two", 20ms)), part("news.3", fetch("three", 20ms)),
      part("news.4", fetch("four", 20ms)), part("weather", fetch("rain & wind", 30ms)),
      part("load", blocking(load_of_machine)), part("recommended", fetch("<b>books</b>", 400ms)),
      part("banner", with_timeout(fetch("<i>buy!</i>", 1h), 50ms), "<!-- no banner -->"),
      part("visits", std::to_string(++visits) + " visits"));
}

task<> serve(std::uint16_t port) {
  auto [door, at] = net::from_environment().listen(address::loopback(port));
  std::printf("http://%s/\n", at.to_string().c_str());
  std::fflush(stdout);
  co_await http::serve_until_signal(std::move(door), home);
}

int main(int argc, char** argv) {
  runtime rt;
  rt.run(serve(static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 8080)));
}
