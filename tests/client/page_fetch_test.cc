// SPDX-License-Identifier: MIT
// The source `fetch` of pages: values of other servers, only from origins that are allowed.
#include "heddle/client/page_fetch.hh"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "client/harness.hh"

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

/// A page in a folder, on disk or in the simulated world.
class one_page_site {
 public:
  one_page_site(driver& d, std::string_view text) : world_(dynamic_cast<sim_driver*>(&d)) {
    std::string made = "/tmp/heddle-fetch-XXXXXX";
    if (world_ == nullptr && ::mkdtemp(made.data()) == nullptr) std::abort();
    path = made;
    if (world_ != nullptr) {
      world_->write_file(path + "/a.page", text);
    } else {
      std::ofstream(path + "/a.page", std::ios::binary) << text;
    }
  }
  one_page_site(const one_page_site&) = delete;
  ~one_page_site() {
    if (world_ == nullptr) std::filesystem::remove_all(path);
  }
  std::string path;

 private:
  sim_driver* world_;
};

int fetches_seen = 0;

/// What pages fetch.
task<http::response> fetched_site(http::request& r) {
  ++fetches_seen;
  if (r.path() == "/text") co_return http::response(200).text("<plain>");
  if (r.path() == "/json") {
    http::response made(200);
    made.body("application/json; charset=utf-8", R"({"items":[{"n":1},{"n":2}]})");
    co_return made;
  }
  if (r.path() == "/moved") {
    http::response made(302);
    made.header("Location", "/text");
    co_return made;
  }
  if (r.path() == "/long") co_return http::response(200).text(std::string(2000, 'x'));
  if (r.path() == "/slow") co_await sleep_for(1h);
  if (r.path().starts_with("/echo/")) co_return http::response(200).text(std::string(r.path()));
  co_return http::error_response(404, "");
}

/// Runs body(target) beside both servers: the target is the page's path, with the port of the other
/// server in its query.
template <class Body>
task<> with_fetching(std::string folder, Body body) {
  auto [origin_door, origin] = open_door();
  auto [door, at] = open_door();
  http::page_files pages(std::move(folder));
  http::page_fetch_options allowed;
  allowed.origins = {url_of(origin, "")};
  allowed.answer_bytes_max = 1000;
  pages.source("fetch", http::fetch_source(std::move(allowed)));
  http::server other(fetched_site);
  http::handler answer = [&](http::request& r) { return pages.answer(r); };
  http::server web(std::move(answer));
  scope s;
  s.spawn(other.serve(std::move(origin_door)));
  s.spawn(web.serve(std::move(door)));
  try {
    const std::string port = std::to_string(origin.port());
    co_await body(at, "GET /a?port=" + port);
  } catch (...) {
    s.fail(std::current_exception());
  }
  s.cancel();  // a fetch that was given up still has its handler
  co_await s.settled();
  s.rethrow_failure();
}

}  // namespace

DRIVER_TEST(page_fetch, "pages show what other servers answer, or the text behind else") {
  HEDDLE_NEEDS_TCP();
  auto made = make();
  const one_page_site site(
      *made,
      "{{= text = fetch \"http://127.0.0.1:$1/text\" request.query.port }}"
      "{{= json = fetch \"http://127.0.0.1:$1/json\" request.query.port }}"
      "{{= echo = fetch \"http://127.0.0.1:$1/echo/$2\" request.query.port \"a/b?c\" }}"
      "{{= missing = fetch \"http://127.0.0.1:$1/no\" request.query.port else \"no 404\" }}"
      "{{= moved = fetch \"http://127.0.0.1:$1/moved\" request.query.port else \"no 302\" }}"
      "{{= long = fetch \"http://127.0.0.1:$1/long\" request.query.port else \"too long\" }}"
      "{{= slow = fetch \"http://127.0.0.1:$1/slow\" request.query.port within 20ms else \"late\" "
      "}}"
      "{{text}} {{#json.items}}{{n}},{{/json.items}} {{echo}} {{missing}} {{moved}} {{long}} "
      "{{slow}}");
  runtime rt(std::move(made));
  rt.run(with_fetching(site.path, [](address at, std::string line) -> task<> {
    const std::string whole = co_await ask(at, line);
    EXPECT_EQ(status_of(whole), "200");
    // The answer may come in chunks, which begin between two values.
    for (const char* part :
         {"&lt;plain&gt; ", "1,2, ", "/echo/a%2Fb%3Fc ", "no 404 ", "no 302 ", "too long "})
      EXPECT_TRUE(whole.contains(part)) << part << whole;
    EXPECT_TRUE(whole.contains("late")) << whole;
  }));
}

DRIVER_TEST(page_fetch, "an origin that is not allowed is not asked") {
  HEDDLE_NEEDS_TCP();
  auto made = make();
  const one_page_site site(
      *made,
      "{{= a = fetch \"http://localhost:$1/text\" request.query.port else \"name\"}}"
      "{{= b = fetch \"http://127.0.0.1:$1/text\" \"1\" else \"port\"}}"
      "{{= c = fetch \"https://127.0.0.1:$1/text\" request.query.port else \"scheme\"}}"
      "{{= d = fetch \"http://127.0.0.1:$1@127.0.0.1/\" request.query.port else \"user\"}}"
      "{{= e = fetch \"/text\" else \"relative\"}}{{a}} {{b}} {{c}} {{d}} {{e}}");
  runtime rt(std::move(made));
  fetches_seen = 0;
  rt.run(with_fetching(site.path, [](address at, std::string line) -> task<> {
    EXPECT_EQ(body_of(co_await ask(at, line)), "name port scheme user relative");
  }));
  EXPECT_EQ(fetches_seen, 0);
}

HEDDLE_TEST(page_fetch, "what is no origin is refused when the source is made") {
  for (const char* bad :
       {"", "127.0.0.1:80", "http://a/b", "ftp://a", "http://a?b", "http://u@a"}) {
    http::page_fetch_options options;
    options.origins = {bad};
    EXPECT_THROW(static_cast<void>(http::fetch_source(options)), failure) << bad;
  }
  http::page_fetch_options good;
  good.origins = {"http://127.0.0.1:1", "HTTPS://www.example.org", "http://[::1]/"};
  EXPECT_TRUE(http::fetch_source(good));
}
