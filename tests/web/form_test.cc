// SPDX-License-Identifier: MIT
// Forms and server-sent events through a server: both encodings, limits, uploads larger than any
// buffer, and streams of events that end when the server does.
#include "heddle/web/form.hh"

#include "heddle/web/event_stream.hh"
#include "heddle/web/problem_details.hh"
#include "web/harness.hh"

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

task<http::response> answer_form(http::request& r) {
  if (r.path() == "/upload") {
    r.limit_body(10'000'000);
    http::multipart_reader parts(r);
    std::string said;
    for (;;) {
      const bool more = co_await parts.next();
      if (!more) break;
      said += parts.part().name + ":";
      if (parts.part().name == "skipped") continue;
      std::size_t size = 0;
      for (;;) {
        const std::string_view bytes = co_await parts.read();
        if (bytes.empty()) break;
        size += bytes.size();
      }
      said += std::to_string(size) + ";";
    }
    co_return http::response(200).text(said);
  }
  http::form_limits bounds;
  bounds.fields_max = 3;
  bounds.field_bytes_max = 20;
  const http::form f = co_await http::read_form(r, bounds);
  std::string said;
  for (const http::form_field& field : f.fields())
    said +=
        field.name + "=" + field.value + (field.filename ? "(" + *field.filename + ")" : "") + ";";
  if (f.find("age") != nullptr) said += std::to_string(*f.value<int>("age") + 1);
  co_return http::response(200).text(said);
}

task<http::response> ticks(http::request& r) {
  http::event_stream out = co_await http::start_events(r);
  co_await out.send(http::server_event("hello\nworld").name("greeting").id("1").retry(2s));
  for (;;) {
    const auto waited = co_await as_expected(with_cancel(r.draining(), sleep_for(1s)));
    if (!waited) co_return out.done();
    co_await out.comment();
  }
}

void with_forms(std::function<task<>(address, http::server&)> body) {
  runtime rt(std::make_unique<sim_driver>());
  rt.run(with_server(answer_form, {}, std::move(body)));
}

task<std::string> post(address at, std::string path, std::string type, std::string body) {
  return ask(
      at, "POST " + path,
      "Content-Type: " + type + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n",
      body);
}

std::string part_of(std::string name, std::string value) {
  return "--b\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n";
}

}  // namespace

HEDDLE_TEST(form, "forms of both encodings give the same fields, within their limits") {
  with_forms([](address at, http::server&) -> task<> {
    const std::string pairs = "application/x-www-form-urlencoded";
    const std::string parts = "multipart/form-data; boundary=b";
    const std::string encoded = co_await post(at, "/", pairs, "a=1+2&b=%C3%A9%26&age=41");
    EXPECT_EQ(body_of(encoded), "a=1 2;b=\xC3\xA9&;age=41;42");
    const std::string multi =
        co_await post(at, "/", parts,
                      part_of("a", "1 2") +
                          "--b\r\nContent-Disposition: form-data; name=f; filename=\"x.txt\"\r\n"
                          "Content-Type: text/plain\r\n\r\nfile\r\n--b--\r\n");
    EXPECT_EQ(body_of(multi), "a=1 2;f=file(x.txt);");
    EXPECT_EQ(status_of(co_await post(at, "/", "text/plain", "a=1")), "415");
    EXPECT_EQ(status_of(co_await post(at, "/", "multipart/form-data", "a=1")), "415");
    EXPECT_EQ(status_of(co_await post(at, "/", pairs, "age=old")), "400");
    EXPECT_EQ(status_of(co_await post(at, "/", pairs, "a=%g1")), "400");
    EXPECT_EQ(status_of(co_await post(at, "/", pairs, "a=1&b=2&c=3&d=4")), "413");
    EXPECT_EQ(status_of(co_await post(at, "/", pairs, "a=" + std::string(21, 'x'))), "413");
    EXPECT_EQ(
        status_of(co_await post(at, "/", parts, part_of("a", std::string(21, 'x')) + "--b--")),
        "413");
    EXPECT_EQ(status_of(co_await post(at, "/", parts, part_of("a", "x"))), "400");
  });
}

HEDDLE_TEST(form, "an upload passes through in parts, and parts may be skipped") {
  with_forms([](address at, http::server&) -> task<> {
    const std::string body = part_of("small", "1") + part_of("skipped", std::string(100'000, 's')) +
                             part_of("large", std::string(3'000'000, 'l')) + part_of("none", "") +
                             "--b--\r\n";
    EXPECT_EQ(body_of(co_await post(at, "/upload", "multipart/form-data; boundary=b", body)),
              "small:1;skipped:large:3000000;none:0;");
  });
}

HEDDLE_TEST(event_stream, "events go out one by one, and the stream ends when the server drains") {
  runtime rt(std::make_unique<sim_driver>());
  rt.run(with_server(ticks, {}, [](address at, http::server& web) -> task<> {
    stream conn = co_await connect_to(at);
    co_await conn.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    const std::string begun = co_await read_until(conn, "world\n\n");
    EXPECT_EQ(field_of(begun, "Content-Type"), "text/event-stream");
    EXPECT_NE(begun.find("event: greeting\nid: 1\nretry: 2000\ndata: hello\ndata: world\n\n"),
              std::string::npos)
        << begun;
    EXPECT_NE((co_await read_until(conn, ": \n\n")).find(": \n\n"), std::string::npos);
    web.stop();
    EXPECT_TRUE((co_await read_all(conn)).ends_with("0\r\n\r\n"));
  }));
}

HEDDLE_TEST(event_stream, "data keeps its lines, and names cannot add any") {
  using http::server_event;
  EXPECT_EQ(server_event("a\r\nb\rc\n").text(), "data: a\ndata: b\ndata: c\ndata: \n\n");
  EXPECT_EQ(server_event("").text(), "data: \n\n");
  EXPECT_THROW(static_cast<void>(server_event("x").name("a\ndata: b")), failure);
  EXPECT_THROW(static_cast<void>(server_event("x").id("a\r")), failure);
  EXPECT_THROW(static_cast<void>(server_event("x").id(std::string_view("a\0b", 3))), failure);
}
