// SPDX-License-Identifier: MIT
// A JSON API for notes, kept in memory: routes with parameters, typed values, limits, middleware,
// and errors as problem documents.
//
//   build/release/examples/json_api 8080
//   curl -d 'buy milk' http://127.0.0.1:8080/notes
//   curl 'http://127.0.0.1:8080/notes?limit=10'
#include <cstdio>
#include <cstdlib>
#include <map>

#include "heddle/heddle.hh"
#include "heddle/net/provider.hh"
#include "heddle/probe/json.hh"
#include "heddle/web/problem_details.hh"
#include "heddle/web/router.hh"

using namespace heddle;
using namespace std::chrono_literals;

struct notebook {
  std::map<int, std::string> notes;
  int next_id = 1;
};

std::string to_json(int id, const std::string& text) {
  return "{\"id\":" + std::to_string(id) + ",\"text\":" + json_quoted(text) + "}";
}

task<http::response> list_notes(notebook& book, http::request& r) {
  const auto limit = r.query_value<std::size_t>("limit").value_or(100);
  std::string all;
  std::size_t count = 0;
  for (const auto& [id, text] : book.notes) {
    if (count++ == limit) break;
    all += (all.empty() ? "" : ",") + to_json(id, text);
  }
  co_return http::response(200).body("application/json", "[" + all + "]\n");
}

task<http::response> add_note(notebook& book, http::request& r) {
  std::string text = co_await r.text();
  if (text.empty()) throw http::status_error(422, "a note needs some text");
  const int id = book.next_id++;
  book.notes[id] = std::move(text);
  co_return http::response(201)
      .header("Location", "/notes/" + std::to_string(id))
      .body("application/json", to_json(id, book.notes[id]) + "\n");
}

std::map<int, std::string>::iterator find(notebook& book, http::request& r) {
  const auto at = book.notes.find(r.param<int>("id"));
  if (at == book.notes.end()) throw http::status_error(404, "there is no note of this number");
  return at;
}

task<http::response> show_note(notebook& book, http::request& r) {
  const auto [id, text] = *find(book, r);
  co_return http::response(200).body("application/json", to_json(id, text) + "\n");
}

task<http::response> remove_note(notebook& book, http::request& r) {
  book.notes.erase(find(book, r));
  co_return http::response(204);
}

task<http::response> log_request(http::request& r, http::next go_on) {
  http::response answer = co_await go_on(r);
  std::fprintf(stderr, "%s %s %d\n", std::string(r.head().method_text()).c_str(),
               std::string(r.path()).c_str(), answer.status());
  co_return answer;
}

task<> serve(std::uint16_t port) {
  notebook book;
  const auto with_book = [&book](auto f) { return std::bind_front(f, std::ref(book)); };
  http::router routes;
  routes.get("/notes", with_book(list_notes));
  routes.post("/notes", with_book(add_note), {.body_bytes_max = 64 * 1024, .timeout = 5s});
  routes.get("/notes/{id}", with_book(show_note));
  routes.delete_("/notes/{id}", with_book(remove_note));
  routes.use(log_request);

  auto [door, at] = net::from_environment().listen(address::loopback(port));
  std::printf("http://%s/notes\n", at.to_string().c_str());
  std::fflush(stdout);
  co_await http::serve_until_signal(std::move(door), routes);
}

int main(int argc, char** argv) {
  runtime rt;
  rt.run(serve(static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 8080)));
}
