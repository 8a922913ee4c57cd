// SPDX-License-Identifier: MIT
// The server that agreement/requests.txt is asked of, through clients that are not ours, which
// agreement/agree drives: each has to see what the table says.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "heddle/http/cookie.hh"
#include "heddle/io/process.hh"
#include "heddle/web/form.hh"
#include "heddle/web/problem_details.hh"
#include "heddle/web/router.hh"
#include "heddle/web/static_files.hh"
#include "support/tree.hh"
#include "web/harness.hh"

namespace heddle::test {

/// The bytes that the table writes as #N.
inline std::string pattern(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i % 26);
  return text;
}

inline task<http::response> echo(http::request& r) {
  std::string said = std::string(r.head().method_text()) + " " + std::string(r.head().target());
  said += "\n" + co_await r.text();
  co_return http::response(200).body("text/plain", std::move(said));
}

inline task<http::response> only_get(http::request&) {
  co_return http::response(200).text("got\n");
}
inline task<http::response> param(http::request& r) {
  co_return http::response(200).text(r.param("value"));
}
inline task<http::response> integer(http::request& r) {
  co_return http::response(200).text(std::to_string(r.param<int>("value")));
}
inline task<http::response> query(http::request& r) {
  const auto n = r.query_value<int>("n");
  co_return http::response(200).text(n ? std::to_string(*n) : "none");
}
inline task<http::response> status(http::request& r) {
  co_return http::response(r.param<int>("code")).text(std::string(r.param("code")) + "\n");
}
inline task<http::response> redirect(http::request& r) {
  co_return http::response(r.param<int>("code"))
      .header("Location", "/echo")
      .text(std::string(r.param("code")) + "\n");
}
inline task<http::response> size(http::request& r) {
  std::size_t bytes = 0;
  for (;;) {
    const std::string_view part = co_await r.read();
    if (part.empty()) break;
    bytes += part.size();
  }
  co_return http::response(200).text(std::to_string(bytes));
}
inline task<http::response> ignore(http::request&) {
  co_return http::response(200).text("ignored");
}
inline task<http::response> whole(http::request& r) {
  co_return http::response(200).body("text/plain", pattern(r.param<std::size_t>("size")));
}
inline task<http::response> in_parts(bool promised, http::request& r) {
  const std::string text = pattern(r.param<std::size_t>("size"));
  http::response head(200);
  if (promised) head.length(text.size());
  http::body_writer out = co_await r.start(std::move(head));
  for (std::size_t at = 0; at < text.size(); at += 5000)
    co_await out.write(std::string_view(text).substr(at, 5000));
  co_return out.done();
}
inline task<http::response> trailers(http::request& r) {
  http::body_writer out = co_await r.start(http::response(200).header("Trailer", "X-Sum"));
  co_await out.write("body\n");
  out.trailer("X-Sum", "5");
  co_return out.done();
}
inline task<http::response> close(http::request&) {
  co_return http::response(200).text("bye\n").close();
}
inline task<http::response> field(http::request& r) {
  co_return http::response(200).text(r.header(r.param("name")));
}
inline task<http::response> repeated(http::request&) {
  co_return http::response(200)
      .header("X-Twice", "one")
      .header("X-Twice", "two")
      .header("X-Empty", "")
      .header("X-Spaces", "a  b")
      .text("ok");
}
inline task<http::response> cookies(http::request& r) {
  http::response out(200);
  out.cookie(http::set_cookie("seen", "1").secure(false));
  co_return std::move(out).text(r.cookie("session").value_or("none"));
}
inline task<http::response> form(http::request& r) {
  const http::form sent = co_await http::read_form(r);
  std::string said;
  for (const http::form_field& f : sent.fields()) said += f.name + "=" + f.value + ";";
  co_return http::response(200).text(said);
}

/// What Chromium runs: fetch() of each request, and what it saw as text in the page.
constexpr const char* page = R"(<!doctype html><meta charset=utf-8><title>agree</title><script>
const hex = b => [...new Uint8Array(b)].map(v => v.toString(16).padStart(2, '0')).join('');
(async () => {
  const seen = [];
  for (const c of await (await fetch('/cases')).json()) {
    try {
      const a = await fetch(c.target, {method: c.method, headers: c.headers, cache: 'no-store',
                                       body: c.body === null ? undefined : c.body});
      seen.push({status: a.status, headers: [...a.headers], body: hex(await a.arrayBuffer())});
    } catch (e) { seen.push({error: String(e)}); }
  }
  const out = document.createElement('pre');
  out.id = 'seen';
  out.textContent = JSON.stringify(seen);
  document.body.append(out);
})();
</script><body>)";

inline task<http::response> show_page(http::request&) {
  co_return http::response(200).body("text/html; charset=utf-8", page);
}
inline task<http::response> show_cases(const std::string& work, http::request&) {
  std::ifstream in(work + "/cases.json");
  std::string text(std::istreambuf_iterator<char>(in), {});
  co_return http::response(200).body("application/json", std::move(text));
}

inline http::router routes_of(http::static_files& files, const std::string& work) {
  http::router routes;
  routes.any("/echo", echo).get("/only-get", only_get);
  routes.get("/a/{value}", param).get("/tail/{value...}", param);
  routes.get("/int/{value}", integer).get("/query", query);
  routes.get("/status/{code}", status).get("/redirect/{code}", redirect);
  routes.any("/size", size).post("/ignore", ignore).post("/small", size, {.body_bytes_max = 100});
  routes.get("/whole/{size}", whole);
  routes.get("/length/{size}", std::bind_front(in_parts, true));
  routes.get("/chunks/{size}", std::bind_front(in_parts, false));
  routes.get("/trailers", trailers).get("/close", close);
  routes.get("/field/{name}", field).get("/repeated", repeated).get("/cookies", cookies);
  routes.post("/form", form);
  routes.get("/files/{path...}", [&files](http::request& r) { return files.answer(r); });
  routes.get("/agree", show_page).get("/cases", std::bind_front(show_cases, work));
  return routes;
}

inline task<> drive(std::string client, std::string work, address at, http::server& web) {
  process_options options;
  options.output(child_stream::pipe);
  process driver = co_await spawn_process(
      command_line(source_dir() + "/tests/web/agreement/agree", "--client", client, "--base",
                   "http://" + at.to_string(), "--work", work),
      options);
  std::string said;
  for (;;) {
    char part[4096];
    const std::size_t got = co_await driver.output().read_some(std::span<char>(part));
    if (got == 0) break;
    said.append(part, got);
  }
  const exit_status ended = co_await driver.wait();
  EXPECT_TRUE(ended.success()) << said;
  EXPECT_GT(web.counters().requests, 150u);
}

inline bool found(const std::string& program) {
  std::string path = std::getenv("PATH") == nullptr ? "" : std::getenv("PATH");
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    if (::access((path.substr(at, end - at) + "/" + program).c_str(), X_OK) == 0) return true;
    at = end + 1;
  }
  return false;
}

inline void agree(const std::string& client, const std::string& program) {
  if (!found(program)) GTEST_SKIP() << program << " is not installed (scripts/setup test)";
  const std::string work = build_dir() + "/agreement/" + client;
  std::filesystem::remove_all(work);
  std::filesystem::create_directories(work + "/www/files");
  std::ofstream(work + "/www/files/ten.txt") << "0123456789";
  std::ofstream(work + "/www/files/big.bin") << pattern(300'000);
  runtime rt;
  http::static_files files(work + "/www");
  rt.run(with_server(routes_of(files, work), {},
                     [&](address at, http::server& web) { return drive(client, work, at, web); }));
}

}  // namespace heddle::test
