// SPDX-License-Identifier: MIT
// Pages from files: their sources run at once and what is ready leaves early; includes, sections
// and failures; files that change; limits. Over HTTP/1.1 and HTTP/2.
#include "heddle/web/page_files.hh"

#include <filesystem>
#include <fstream>
#include <map>

#include "heddle/web/problem_details.hh"
#include "support/wait_until.hh"
#include "web/harness.hh"
#include "web/http2_client.hh"

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

/// A folder of pages, on disk or in the simulated world.
class page_site {
 public:
  explicit page_site(driver& d) : world_(dynamic_cast<sim_driver*>(&d)) {
    std::string made = "/tmp/heddle-pages-XXXXXX";
    if (world_ == nullptr && ::mkdtemp(made.data()) == nullptr) std::abort();
    path = made;
  }
  page_site(const page_site&) = delete;
  ~page_site() {
    if (world_ == nullptr) std::filesystem::remove_all(path);
  }
  void write(const std::string& name, std::string_view text) const {
    const std::string at = path + '/' + name;
    if (world_ != nullptr) return world_->write_file(at, text);
    std::filesystem::create_directories(std::filesystem::path(at).parent_path());
    std::ofstream(at, std::ios::binary) << text;
  }
  std::string path;

 private:
  sim_driver* world_;
};

std::atomic<bool> early_text_came = false;
std::atomic<int> sources_cancelled = 0;
std::atomic<int> sources_begun = 0;

/// The kind of source `try`: its text says what it does.
task<http::page_value> try_source(http::source_call call) {
  ++sources_begun;
  const std::string what = call.text();
  if (what == "wait") {
    if (!co_await wait_until([] { return early_text_came.load(); })) co_return "never";
    co_return "<late>";
  }
  if (what == "never") {
    const auto ended = co_await as_expected(sleep_for(1h));
    if (ended) co_return "";
    ++sources_cancelled;
    throw failure(ended.error());
  }
  if (what == "fail") throw failure(std::make_error_code(std::errc::host_unreachable), "no news");
  if (what == "fail later") {
    co_await sleep_for(5ms);
    throw std::runtime_error("no table");
  }
  if (what == "news") {
    co_await sleep_for(1ms);
    co_return http::page_value::of_json(
        R"([{"title":"<One>","url":"/1","by":{"name":"Ann"},"tags":["a","b"]},)"
        R"({"title":"Two","url":"javascript:x","tags":[]}])");
  }
  if (what == "empty") co_return http::page_value::list();
  std::string all = what;
  for (const std::string& each : call.arguments()) all += '|' + each;
  co_return all;
}

/// Runs body(address, pages) beside a server that answers with the pages of the site.
template <class Body>
task<> with_pages(std::string folder, http::page_files_options options, Body body,
                  std::vector<std::string>* failures = nullptr) {
  http::page_files pages(std::move(folder), std::move(options));
  pages.source("try", &try_source);
  http::server_options web;
  web.failed = [failures](const http::request_head&, const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      if (failures != nullptr) failures->emplace_back(e.what());
    }
  };
  http::handler answer = [&](http::request& r) { return pages.answer(r); };
  const auto use = [&](address at, http::server&) -> task<> { co_await body(at, pages); };
  task<> served = with_server(std::move(answer), std::move(web), use);
  co_await std::move(served);
}

task<std::string> shown(address at, std::string path) {
  const std::string whole = co_await ask(at, "GET " + path);
  if (status_of(whole) != "200") co_return status_of(whole);
  std::string body = body_of(whole);
  if (field_of(whole, "Transfer-Encoding") != "chunked") co_return body;
  std::string out;  // the chunks' bytes
  for (;;) {
    const std::size_t line = body.find("\r\n");
    if (line == std::string::npos) co_return out + "<cut>";
    const std::size_t size = std::stoul(body, nullptr, 16);
    if (size == 0) co_return out;
    out += body.substr(line + 2, size);
    body.erase(0, std::min(body.size(), line + 2 + size + 2));
  }
}

}  // namespace

DRIVER_TEST(page_files, "sources run at once, and text before the first late one leaves early") {
  HEDDLE_NEEDS_SOCKET();
  auto made = make();
  const page_site site(*made);
  site.write("index.page",
             "{{= a = try \"wait\" }}\n{{= b = try \"<b>\" }}\n"
             "<h1>{{b}}</h1>{{> parts/news.page head=\"News\"}}<p>{{a}}</p>{{{a}}}\n");
  site.write("parts/news.page",
             "{{= news = try \"news\" within 2s }}<h2>{{head}}</h2><ul>{{#news}}"
             "<li><a href=\"{{url}}\">{{title}}</a> {{by.name}}{{#tags}}[{{.}}]{{/tags}}"
             "{{^tags}}no tags{{/tags}}{{/news}}</ul>");
  runtime rt(std::move(made));
  rt.run(with_pages(site.path, {}, [](address at, http::page_files&) -> task<> {
    early_text_came = false;
    stream conn = co_await connect_to(at);
    co_await conn.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    const std::string early = co_await read_until(conn, "</ul><p>");
    EXPECT_EQ(field_of(early, "Content-Type"), "text/html; charset=utf-8");
    EXPECT_EQ(field_of(early, "X-Content-Type-Options"), "nosniff");
    EXPECT_TRUE(early.contains("<h1>&lt;b&gt;</h1><h2>News</h2>")) << early;
    EXPECT_TRUE(early.contains("<li><a href=\"/1\">&lt;One&gt;</a> Ann[a][b]")) << early;
    EXPECT_TRUE(early.contains("<li><a href=\"#\">Two</a> no tags")) << early;
    EXPECT_FALSE(early.contains("late")) << early;
    early_text_came = true;
    const std::string rest = co_await read_until(conn, "\r\n0\r\n\r\n");
    EXPECT_TRUE(rest.contains("&lt;late&gt;</p><late>")) << rest;
  }));
}

DRIVER_TEST(page_files, "a page that is there at once has a length, over HTTP/2 too") {
  auto made = make();
  const page_site site(*made);
  site.write("a.page",
             "<p>{{x}}|{{request.path}}|{{request.query.q}}</p>{{= x = try \"$1\" "
             "request.query.q \"k\"}}");
  runtime rt(std::move(made));
  rt.run(with_pages(site.path, {}, [](address at, http::page_files&) -> task<> {
    const std::string whole = co_await ask(at, "GET /a?q=%3Cq%3E");
    EXPECT_EQ(body_of(whole), "<p>$1|&lt;q&gt;|k|/a|&lt;q&gt;</p>");
    EXPECT_EQ(field_of(whole, "Content-Length"), std::to_string(body_of(whole).size()));
    const int before = sources_begun;
    const std::string head = co_await ask(at, "HEAD /a");
    EXPECT_EQ(status_of(head), "200");
    EXPECT_EQ(sources_begun, before);  // HEAD runs no source
    http2_client client(co_await connect_to(at));
    client.get(1, "/a?q=2");
    co_await client.send();
    std::string all;
    while (!all.contains("END")) all += co_await client.next() + "\n";
    EXPECT_TRUE(all.contains(":status: 200") || all.contains("200")) << all;
  }));
}

DRIVER_TEST(page_files, "paths that are no page get 404, other methods 405") {
  auto made = make();
  const page_site site(*made);
  site.write("_part.page", "x");
  site.write("a/index.page", "in a");
  site.write("a/.b.page", "x");
  site.write("feed.xml.page", "<t>{{= x = try \"<&\"}}{{x}}</t>");
  site.write("t.txt.page", "{{= x = try \"<&\"}}{{x}}");
  runtime rt(std::move(made));
  rt.run(with_pages(site.path, {}, [](address at, http::page_files&) -> task<> {
    for (const char* none : {"/", "/_part", "/a", "/a/.b", "/a/index.page", "/b", "/a/../../etc/x",
                             "/a/%2e%2e/%2e%2e/x", "/a%2findex", "/%00"})
      EXPECT_EQ(co_await shown(at, none), "404") << none;
    EXPECT_EQ(co_await shown(at, "/a/"), "in a");
    EXPECT_EQ(co_await shown(at, "/feed.xml"), "<t>&lt;&amp;</t>");
    const std::string text = co_await ask(at, "GET /t.txt");
    EXPECT_EQ(body_of(text), "<&");
    EXPECT_TRUE(field_of(text, "Content-Type").starts_with("text/plain")) << text;
    const std::string post = co_await ask(at, "POST /a/", "Content-Length: 0\r\n");
    EXPECT_EQ(status_of(post), "405");
    EXPECT_EQ(field_of(post, "Allow"), "GET, HEAD");
  }));
}

DRIVER_TEST(page_files, "a source that fails or is late is replaced, refused or cut") {
  auto made = make();
  const page_site site(*made);
  site.write("instead.page",
             "{{= a = try \"fail\" else \"<none>\"}}"
             "{{= b = try \"never\" within 2ms else \"late\"}}{{a}} {{b}}");
  site.write("first.page", "\n{{= a = try \"fail\"}}{{a}}");
  site.write("cut.page", "{{= a = try \"fail later\"}}before {{a}} after");
  site.write("cancels.page", "{{= a = try \"fail later\"}}{{= b = try \"never\"}}{{a}}{{b}}");
  site.write("unknown.page", "{{= a = try \"x\" nobody}}{{a}}");
  std::vector<std::string> failures;
  runtime rt(std::move(made));
  rt.run(with_pages(
      site.path, {},
      [&](address at, http::page_files&) -> task<> {
        EXPECT_EQ(co_await shown(at, "/instead"), "&lt;none&gt; late");
        EXPECT_EQ(co_await shown(at, "/first"), "500");
        EXPECT_EQ(co_await shown(at, "/cut"), "before <cut>");
        const int before = sources_cancelled;
        EXPECT_EQ(co_await shown(at, "/cancels"), "500");
        EXPECT_EQ(sources_cancelled, before + 1);
        EXPECT_EQ(co_await shown(at, "/unknown"), "500");
      },
      &failures));
  ASSERT_EQ(failures.size(), 4u);
  EXPECT_TRUE(failures[0].starts_with(site.path + "/first.page:2: the source a failed: no news"))
      << failures[0];
  EXPECT_EQ(failures[1], site.path + "/cut.page:1: the source a failed: no table");
  EXPECT_TRUE(failures[3].contains("nobody is not known when the sources start")) << failures[3];
}

DRIVER_TEST(page_files, "`read` shows files of the folder and none outside of it") {
  auto made = make();
  const page_site site(*made);
  site.write("data/list.json", R"({"n":[1,2.50,true,null]})");
  site.write("data/note.txt", "<note>");
  site.write("data/.secret", "secret");
  site.write("a.page",
             "{{= d = read \"data/list.json\"}}{{= t = read \"data/$1\" request.query.f "
             "else \"none\"}}{{#d.n}}[{{.}}]{{/d.n}} {{t}}");
  runtime rt(std::move(made));
  rt.run(with_pages(site.path, {}, [](address at, http::page_files&) -> task<> {
    EXPECT_EQ(co_await shown(at, "/a?f=note.txt"), "[1][2.50][true][] &lt;note&gt;");
    for (const char* bad :
         {".secret", "../a.page", "/etc/passwd", "x%2Fy", "", "missing", "..", "note.txt%00"})
      EXPECT_TRUE((co_await shown(at, "/a?f=" + std::string(bad))).ends_with(" none")) << bad;
  }));
}

DRIVER_TEST(page_files, "a file that has changed is read again, and one that is wrong says where") {
  auto made = make();
  const page_site site(*made);
  site.write("a.page", "one {{> b.page}}");
  site.write("b.page", "b1");
  std::vector<std::string> failures;
  runtime rt(std::move(made));
  rt.run(with_pages(
      site.path, {.trust = 0s},
      [&](address at, http::page_files& pages) -> task<> {
        EXPECT_EQ(co_await shown(at, "/a"), "one b1");
        site.write("b.page", "b2");  // as long as before, and at once
        EXPECT_EQ(co_await shown(at, "/a"), "one b2");
        site.write("b.page", "\n{{#news}}");
        EXPECT_EQ(co_await shown(at, "/a"), "500");
        site.write("b.page", "b3");
        EXPECT_EQ(co_await shown(at, "/a"), "one b3");
        site.write("c.page", "c");
        EXPECT_EQ(co_await shown(at, "/c"), "c");
        EXPECT_TRUE((co_await pages.check()).empty());
        site.write("d/e.page", "{{> gone.page}}");
        site.write("f.json.page", "{}");
        const std::vector<std::string> wrong = co_await pages.check();
        EXPECT_EQ(wrong.size(), 2u);
        if (wrong.size() == 2) {
          EXPECT_EQ(wrong[0],
                    site.path + "/d/e.page:1: there is no file " + site.path + "/gone.page");
          EXPECT_TRUE(wrong[1].contains("/f.json.page:1: its name must end with")) << wrong[1];
        }
      },
      &failures));
  EXPECT_EQ(failures, std::vector<std::string>{site.path + "/b.page:2: {{#news}} is not closed"});
}

DRIVER_TEST(page_files, "levels, includes, sources and bytes are bounded") {
  auto made = make();
  const page_site site(*made);
  site.write("self.page", "{{> self.page}}");
  site.write("wide.page", "{{> x.page}}{{> x.page}}{{> x.page}}");
  site.write("x.page", "{{= s = try \"a\"}}{{s}}");
  site.write("large.page", std::string(101, 'x'));
  site.write("kind.page", "{{= s = sql \"a\"}}");
  site.write("txt.page", "{{> x.txt}}");
  std::vector<std::string> failures;
  runtime rt(std::move(made));
  rt.run(with_pages(
      site.path, {.includes_max = 3, .sources_max = 3, .file_bytes_max = 100},
      [](address at, http::page_files&) -> task<> {
        EXPECT_EQ(co_await shown(at, "/wide"), "aaa");
        for (const char* bad : {"/self", "/large", "/kind", "/txt"})
          EXPECT_EQ(co_await shown(at, bad), "500") << bad;
      },
      &failures));
  ASSERT_EQ(failures.size(), 4u);
  EXPECT_TRUE(failures[0].contains("includes more than 3 files")) << failures[0];
  EXPECT_TRUE(failures[1].contains("large.page:1: the file has more than 100 bytes"));
  EXPECT_TRUE(failures[2].contains("'sql' is no kind of source; this program has: read, try"));
  EXPECT_TRUE(failures[3].contains("does not end with .page")) << failures[3];
  failures.clear();
  auto again = make();
  const page_site other(*again);
  other.write("self.page", "{{> self.page}}");
  other.write("many.page", "{{= a = try \"a\"}}{{= b = try \"b\"}}");
  runtime next(std::move(again));
  next.run(with_pages(
      other.path, {.levels_max = 2, .sources_max = 1},
      [](address at, http::page_files&) -> task<> {
        EXPECT_EQ(co_await shown(at, "/self"), "500");
        EXPECT_EQ(co_await shown(at, "/many"), "500");
      },
      &failures));
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_TRUE(failures[0].contains("more than 2 levels deep")) << failures[0];
  EXPECT_TRUE(failures[1].contains("more than 1 sources")) << failures[1];
}

DRIVER_TEST(page_files, "a long page is sent in parts, and a client that leaves ends the sources") {
  auto made = make();
  const page_site site(*made);
  site.write("long.page", std::string(200'000, 'x') + "{{#request.path}}{{.}}{{/request.path}}");
  site.write("stuck.page", "{{= a = try \"never\"}}{{= b = try \"never\"}}head{{a}}");
  runtime rt(std::move(made));
  rt.run(with_pages(site.path, {}, [](address at, http::page_files& pages) -> task<> {
    EXPECT_EQ(co_await shown(at, "/long"), std::string(200'000, 'x') + "/long");
    const int before = sources_cancelled;
    http2_client client(co_await connect_to(at));
    client.get(1, "/stuck");
    co_await client.send();
    std::string got;
    while (!got.contains("DATA 1")) got += co_await client.next() + "\n";
    std::string code(4, '\0');
    client.frame(http::http2_type::rst_stream, 0, 1, code);
    co_await client.send();
    EXPECT_TRUE(co_await wait_until([&] { return sources_cancelled == before + 2; }));
    EXPECT_TRUE(co_await wait_until([&] { return pages.busy() == 0; }));
  }));
}

HEDDLE_TEST(page_files_simulated, "files are looked at once a second, and read once") {
  auto world = std::make_unique<sim_driver>(sim_options{.seed = 3});
  sim_driver& sim = *world;
  sim.write_file("/s/a.page", "one");
  runtime rt(std::move(world));
  rt.run(with_pages("/s", {}, [&](address at, http::page_files&) -> task<> {
    EXPECT_EQ(co_await shown(at, "/a"), "one");
    EXPECT_EQ(co_await shown(at, "/b"), "404");
    sim.write_file("/s/a.page", "two, longer");
    sim.write_file("/s/b.page", "new");
    EXPECT_EQ(co_await shown(at, "/a"), "one");
    EXPECT_EQ(co_await shown(at, "/b"), "404");
    co_await sleep_for(1100ms);
    EXPECT_EQ(co_await shown(at, "/a"), "two, longer");
    EXPECT_EQ(co_await shown(at, "/b"), "new");
  }));
}

HEDDLE_TEST(page_files_simulated, "names that are missing do not push pages out of memory") {
  auto world = std::make_unique<sim_driver>(sim_options{.seed = 5});
  sim_driver& sim = *world;
  sim.write_file("/s/a.page", "one");
  runtime rt(std::move(world));
  rt.run(with_pages("/s", {.reload = false, .files_max = 4},
                    [&](address at, http::page_files&) -> task<> {
                      EXPECT_EQ(co_await shown(at, "/a"), "one");
                      sim.write_file("/s/a.page", "two");
                      for (int i = 0; i != 20; ++i)
                        EXPECT_EQ(co_await shown(at, "/no" + std::to_string(i)), "404");
                      EXPECT_EQ(co_await shown(at, "/a"), "one");  // it is not read again
                    }));
}

HEDDLE_TEST(page_files_simulated, "a file that changes while it is read is never half old") {
  for (std::uint64_t seed = 1; seed != 30; ++seed) {
    auto world = std::make_unique<sim_driver>(sim_options{.seed = seed});
    sim_driver& sim = *world;
    const std::string old_text(5000, 'a');
    const std::string new_text(5001, 'b');
    sim.write_file("/s/a.page", old_text);
    runtime rt(std::move(world));
    rt.run(with_pages("/s", {.trust = 0s}, [&](address at, http::page_files&) -> task<> {
      scope s;
      s.spawn([&]() -> task<> {
        for (int i = 0; i != 20; ++i) {
          co_await sleep_for(37us);
          sim.write_file("/s/a.page", i % 2 == 0 ? new_text : old_text);
        }
      });
      for (int i = 0; i != 10; ++i) {
        const std::string got = co_await shown(at, "/a");
        EXPECT_TRUE(got == old_text || got == new_text || got == "500") << seed << got.size();
      }
      co_await s.join();
      EXPECT_EQ(co_await shown(at, "/a"), old_text);
    }));
  }
}
