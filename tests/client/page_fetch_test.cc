// SPDX-License-Identifier: MIT
// The source `fetch` of pages: values of other servers, only from origins that are allowed.
#include "heddle/client/page_fetch.hh"

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include "client/harness.hh"
#include "heddle/http/url.hh"

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
std::string last_path_seen;

/// What pages fetch.
task<http::response> fetched_site(http::request& r) {
  ++fetches_seen;
  last_path_seen = r.path();
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

namespace {

/// The parts between the slashes, percent-decoded once.
std::vector<std::string> decoded_segments(std::string_view path) {
  std::vector<std::string> made;
  for (const std::string_view raw :
       std::views::split(path, '/') | std::views::transform([](auto part) {
         return std::string_view(part.begin(), part.end());
       })) {
    std::string& out = made.emplace_back();
    for (std::size_t i = 0; i < raw.size(); ++i) {
      unsigned byte = 0;
      if (raw[i] == '%' && i + 2 < raw.size() &&
          std::from_chars(&raw[i + 1], &raw[i + 1] + 2, byte, 16).ptr == &raw[i + 1] + 2) {
        out += static_cast<char>(byte);
        i += 2;
      } else {
        out += raw[i];
      }
    }
  }
  return made;
}

http::source_text text_of(std::string text, std::vector<std::string> values) {
  return {std::move(text), std::move(values)};
}

}  // namespace

HEDDLE_TEST(page_fetch, "no value makes a path of other segments than the text has") {
  const std::vector<std::string> templates = {
      "/users/$1/profile", "/users/$1",  "/users/$1$2",  "/a/.$1/b",  "/a/$1./b", "/a/%2$1/b",
      "/a/%$1$2/b",        "/a/$1%2e/b", "/$1;v=$2/end", "/$1/$2/$1", "/$1?q=$2", "/x$1/$2#$1"};
  constexpr std::string_view alphabet = ".%2eE/\\;a?#";
  std::mt19937 random(38);
  std::size_t taken = 0;
  std::size_t refused = 0;
  for (int round = 0; round != 60'000; ++round) {
    const std::string& text = templates[random() % templates.size()];
    std::vector<std::string> values(2);
    for (std::string& each : values)
      for (std::size_t left = random() % 5; left != 0; --left)
        each += alphabet[random() % alphabet.size()];
    const std::string where = text + " with '" + values[0] + "' and '" + values[1] + "'";
    std::string made;
    try {
      made = text_of("http://127.0.0.1:1" + text, values).filled_url();
    } catch (const failure& e) {
      EXPECT_EQ(e.code(), std::errc::invalid_argument);
      ++refused;
      continue;
    }
    ++taken;
    const auto sent = http::url::parse(made);
    ASSERT_TRUE(sent) << where;
    const std::vector<std::string> seen = decoded_segments(sent->path());
    const std::string_view path = std::string_view(text).substr(0, text.find_first_of("?#"));
    ASSERT_EQ(seen.size(), decoded_segments(path).size()) << where;
    for (std::size_t i = 1; i != seen.size(); ++i) {
      const std::string part = seen[i].substr(0, seen[i].find(';'));
      ASSERT_TRUE(part != "" && part != "." && part != "..") << where << ": " << made;
    }
  }
  EXPECT_GT(taken, 20'000U);
  EXPECT_GT(refused, 2'000U);
}

HEDDLE_TEST(page_fetch, "segments that the page's author wrote, and values of a query, stay") {
  EXPECT_EQ(text_of("http://h/a/../b//c/$1", {"..."}).filled_url(), "http://h/a/../b//c/...");
  EXPECT_EQ(text_of("http://h/b?a=$1&b=$2#$1", {"..", ""}).filled_url(), "http://h/b?a=..&b=#..");
  EXPECT_EQ(text_of("http://$1:1/a", {""}).filled_url(), "http://:1/a");
  EXPECT_EQ(text_of("/a/$1$$/", {".."}).filled_url(), "/a/..$/");
  EXPECT_THROW(static_cast<void>(text_of("a/$1/b", {".."}).filled_url()), failure);
  EXPECT_THROW(static_cast<void>(text_of("$1", {"."}).filled_url()), failure);
  // "$$" is one byte of the URL, and the path begins where it does in the text.
  EXPECT_THROW(static_cast<void>(text_of("http://a$$/$1", {".."}).filled_url()), failure);
  EXPECT_THROW(static_cast<void>(text_of("/a/$2", {"b"}).filled_url()), failure);
}

DRIVER_TEST(page_fetch, "a visitor's dots do not reach another resource") {
  HEDDLE_NEEDS_TCP();
  auto made = make();
  const one_page_site site(
      *made,
      "{{= u = fetch \"http://127.0.0.1:$1/echo/$2/profile\" request.query.port request.query.id "
      "else \"refused\"}}{{u}}");
  runtime rt(std::move(made));
  fetches_seen = 0;
  rt.run(with_fetching(site.path, [](address at, std::string line) -> task<> {
    for (const char* id : {"..", ".", "", "%2e%2e", "%2E.", ".%2e", "%2e"})
      EXPECT_EQ(body_of(co_await ask(at, line + "&id=" + id)), "refused") << id;
    EXPECT_EQ(fetches_seen, 0);
    static_cast<void>(co_await ask(at, line + "&id=..%2F.."));
    EXPECT_EQ(last_path_seen, "/echo/..%2F../profile");
    static_cast<void>(co_await ask(at, line + "&id=..."));
    EXPECT_EQ(last_path_seen, "/echo/.../profile");
  }));
}

DRIVER_TEST(page_fetch, "a check names sources that fail for every request, and no others") {
  auto made = make();
  const one_page_site site(
      *made,
      "{{= a = fetch \"http://127.0.0.1:1/ok/$1\" request.query.id }}\n"
      "{{= b = fetch \"http://127.0.0.1:2/$1\" request.query.id else \"x\" }}\n"
      "{{= c = fetch \"http://127.0.0.1:$1/\" request.query.port }}\n"
      "{{= d = fetch \"http://127.0.0.1:$1/\" \"3\" }}\n"
      "{{= e = fetch \"http://127.0.0.1:1/$1/x\" \"..\" }}\n"
      "{{= f = read \"../../etc/passwd\" }}\n"
      "{{= g = read \"later.json\" }}\n"
      "{{= h = read \"$1/../x\" request.query.id }}\n"
      "{{= i = read \"/etc/passwd\" }}\n"
      "{{= j = read \"$1.txt\" request.query.id }}\n");
  runtime rt(std::move(made));
  rt.run([](std::string folder) -> task<> {
    http::page_files pages(folder);
    const std::vector<std::string> origins = {"http://127.0.0.1:1"};
    pages.source("fetch", http::fetch_source({.origins = origins}), http::fetch_check(origins));
    const std::vector<std::string> wrong = co_await pages.check();
    std::string lines;
    for (const std::string& each : wrong) {
      EXPECT_TRUE(each.starts_with(folder + "/a.page:") && each.contains("every request")) << each;
      lines += each.substr(folder.size() + 8, 1);
    }
    EXPECT_EQ(lines, "245689");
  }(site.path));
}
