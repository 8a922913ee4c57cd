// SPDX-License-Identifier: MIT
// The client against our own server: requests, bodies in both directions, the pool, redirects.
#include "heddle/client/client.hh"

#include "client/harness.hh"
#include "heddle/core/hedged.hh"
#include "heddle/http/content_decoding.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

task<std::string> next_part(std::shared_ptr<int> left) {
  co_await sleep_for(1ms);
  co_return --*left < 0 ? "" : "part " + std::to_string(*left) + "\n";
}

/// A body of so many parts.
http::body_source parts_of(int count) {
  return [left = std::make_shared<int>(count)] { return next_part(left); };
}

task<http::response> answer_client(http::request& r) {
  const std::string_view path = r.path();
  if (path == "/hello") co_return http::response(200).text("hello\n");
  if (path == "/echo") {
    std::string body = co_await r.text();
    co_return http::response(200)
        .header("X-Method", r.head().method_text())
        .header("X-Type", r.header("content-type"))
        .header("X-Auth", r.header("authorization"))
        .body("text/plain", std::move(body));
  }
  if (path == "/stream") {
    http::body_writer out = co_await r.start(http::response(200));
    for (;;) {
      const std::string part(co_await r.read());
      if (part.empty()) break;
      co_await out.write(part);
      co_await out.flush();
    }
    out.trailer("X-Sum", "42");
    co_return out.done();
  }
  if (path == "/packed") {
    const auto coding = http::coding_named(*r.query_value("as"));
    const std::string_view name = http::name_of(*coding);
    if (r.header("accept-encoding").find(name) == std::string_view::npos)
      co_return http::response(200).text("plain");
    const std::string plain(100'000, 'z');
    co_return http::response(200)
        .header("Content-Encoding", std::string(name))
        .body("text/plain", *http::compress(*coding, plain));
  }
  if (path == "/cookie") {
    const std::string seen(r.header("cookie"));
    co_return http::response(200).header("Set-Cookie", "id=7; Path=/").text(seen);
  }
  if (path == "/slow") {  // until the client gives it up; in HTTP/2 that cancels this task
    if (over_http2()) {
      co_await sleep_for(20s);
    } else {
      static_cast<void>(co_await with_timeout(r.client_ended(), 20s));
    }
    co_return http::response(200).text("late");
  }
  if (path == "/large") co_return http::response(200).text(std::string(3'000'000, 'L'));
  if (path == "/early") co_return http::response(403).text("no");
  if (path == "/loop") co_return http::response(302).header("Location", "loop");
  const int status = r.query_value<int>("s").value_or(302);
  co_return http::response(status).header("Location", *r.query_value("to"));
}

DRIVER_TEST(client, "one line gets a page, and the connection is used again") {
  runtime rt(make());
  rt.run(with_server(answer_client, {}, [](address at, http::server&) -> task<> {
    http::client web(of_version());
    for (int i = 0; i < 3; ++i) {
      const http::fetched page = co_await web.get(url_of(at, "/hello"));
      EXPECT_EQ(page.status(), 200);
      EXPECT_EQ(page.body, "hello\n");
      EXPECT_EQ(page.header("content-TYPE"), "text/plain; charset=utf-8");
      EXPECT_EQ(page.url, url_of(at, "/hello"));
    }
    EXPECT_EQ(web.counters().connections, 1u);
    EXPECT_EQ(web.counters().reused, 2u);
    EXPECT_EQ(web.idle(), 1u);
    const http::fetched head = co_await web.head(url_of(at, "/hello"));
    EXPECT_EQ(head.header("content-length"), "6");
    EXPECT_EQ(head.body, "");
  }));
}

DRIVER_TEST(client, "bodies of any kind arrive: small, large, streamed with and without a length") {
  runtime rt(make());
  http::server_options roomy;
  roomy.bounds.body_bytes_max = 8 << 20;
  rt.run(with_server(answer_client, roomy, [](address at, http::server&) -> task<> {
    http::client web(of_version());
    const http::fetched small = co_await web.post(url_of(at, "/echo"), "text/x", "abc");
    EXPECT_EQ(small.body, "abc");
    EXPECT_EQ(small.header("x-type"), "text/x");
    const std::string large(1'000'000, 'q');
    const http::fetched back = co_await web.post(url_of(at, "/stream"), "text/x", large);
    EXPECT_EQ(back.body.size(), large.size());
    http::outgoing chunked("PUT", url_of(at, "/stream"));
    chunked.body("text/plain", parts_of(5));
    http::answer a = co_await web.open(std::move(chunked));
    EXPECT_EQ(a.header("transfer-encoding"), over_http2() ? "" : "chunked");
    EXPECT_EQ(a.head().major_version(), over_http2() ? 2 : 1);
    const std::string text = co_await a.text(1000);
    EXPECT_EQ(text, "part 4\npart 3\npart 2\npart 1\npart 0\n");
    EXPECT_EQ(a.trailer("x-sum"), "42");
    http::outgoing sized("PUT", url_of(at, "/echo"));
    sized.body("text/plain", parts_of(2), 14);
    const http::fetched measured = co_await web.send(std::move(sized));
    EXPECT_EQ(measured.body, "part 1\npart 0\n");
    EXPECT_EQ(measured.header("x-method"), "PUT");
    EXPECT_EQ(web.counters().connections, 1u);
  }));
}

DRIVER_TEST(client,
            "a body_source that breaks its word fails the request, and the server sees a cut") {
  runtime rt(make());
  rt.run(with_server(answer_client, {}, [](address at, http::server&) -> task<> {
    http::client web(of_version());
    http::outgoing more("PUT", url_of(at, "/echo"));
    more.body("text/plain", parts_of(3), 10);
    const std::string said = co_await error_of(web.send(std::move(more)), std::errc::message_size);
    EXPECT_NE(said.find("more bytes than the length"), std::string::npos) << said;
    http::outgoing fewer("PUT", url_of(at, "/echo"));
    fewer.body("text/plain", parts_of(1), 14);
    const std::string short_of =
        co_await error_of(web.send(std::move(fewer)), std::errc::message_size);
    EXPECT_NE(short_of.find("fewer bytes"), std::string::npos) << short_of;
    EXPECT_EQ(web.idle(), kept_by_http2());
  }));
}

void unpacks(auto on, http::content_coding coding) {
  if (!http::codings_read().has(coding)) GTEST_SKIP() << "without its library";
  runtime rt(std::move(on));
  rt.run(with_server(answer_client, {}, [coding](address at, http::server&) -> task<> {
    const std::string packed = url_of(at, "/packed?as=" + std::string(http::name_of(coding)));
    http::client web(of_version());
    const http::fetched page = co_await web.get(packed);
    EXPECT_EQ(page.body, std::string(100'000, 'z'));
    EXPECT_EQ(web.idle(), 1u);
    http::client_options tight;
    tight.body_bytes_max = 50'000;
    http::client careful(of_version(tight));
    const std::string said = co_await error_of(careful.get(packed), std::errc::message_size);
    EXPECT_NE(said.find("larger than 50000 bytes"), std::string::npos) << said;
    http::client_options plain;
    plain.unpack = false;
    http::client old(of_version(plain));
    const http::fetched as_is = co_await old.get(packed);
    EXPECT_EQ(as_is.body, "plain");
  }));
}

DRIVER_TEST(client, "gzip is unpacked, within its limit") {
  unpacks(make(), http::content_coding::gzip);
}
DRIVER_TEST(client, "br is unpacked, within its limit") {
  unpacks(make(), http::content_coding::brotli);
}
DRIVER_TEST(client, "zstd is unpacked, within its limit") {
  unpacks(make(), http::content_coding::zstd);
}

DRIVER_TEST(client, "redirects are followed by the rules of their status") {
  runtime rt(make());
  rt.run(with_server(answer_client, {}, [](address at, http::server&) -> task<> {
    http::client web(of_version());
    const auto sent = [&](int status, std::string method) {
      http::outgoing what(method, url_of(at, "/x?to=/echo&s=" + std::to_string(status)));
      what.body("text/plain", "body").header("Authorization", "mine");
      return web.send(std::move(what));
    };
    for (const int status : {301, 302, 303}) {
      const http::fetched got = co_await sent(status, "POST");
      EXPECT_EQ(got.header("x-method"), "GET") << status;
      EXPECT_EQ(got.body, "") << status;
      EXPECT_EQ(got.header("x-type"), "") << status;
      EXPECT_EQ(got.header("x-auth"), "mine") << status;
    }
    for (const int status : {307, 308}) {
      const http::fetched got = co_await sent(status, "POST");
      EXPECT_EQ(got.header("x-method"), "POST") << status;
      EXPECT_EQ(got.body, "body") << status;
    }
    for (const int status : {301, 302, 307, 308}) {  // RFC 10008 section 2.4
      const http::fetched got = co_await sent(status, "QUERY");
      EXPECT_EQ(got.header("x-method"), "QUERY") << status;
      EXPECT_EQ(got.body, "body") << status;
    }
    EXPECT_EQ((co_await sent(303, "QUERY")).header("x-method"), "GET");
    const http::fetched asked = co_await web.query(url_of(at, "/echo"), "text/plain", "what?");
    EXPECT_EQ(asked.header("x-method"), "QUERY");
    EXPECT_EQ(asked.header("x-type"), "text/plain");
    EXPECT_EQ(asked.body, "what?");
    const http::fetched put = co_await sent(302, "PUT");
    EXPECT_EQ(put.header("x-method"), "PUT");
    EXPECT_EQ(put.url, url_of(at, "/echo"));
    EXPECT_EQ(web.counters().connections, 1u);
  }));
}

DRIVER_TEST(client, "a redirect loop ends, and one to nowhere is named") {
  runtime rt(make());
  rt.run(with_server(answer_client, {}, [](address at, http::server&) -> task<> {
    http::client web(of_version());
    const std::string loop =
        co_await error_of(web.get(url_of(at, "/loop")), std::errc::too_many_symbolic_link_levels);
    EXPECT_NE(loop.find("redirected more than 10 times"), std::string::npos) << loop;
    EXPECT_EQ(web.counters().redirects, 10u);
    const std::string nowhere =
        co_await error_of(web.get(url_of(at, "/x?to=ftp://h/")), std::errc::bad_message);
    EXPECT_NE(nowhere.find("neither http nor https"), std::string::npos) << nowhere;
    http::client_options still;
    still.redirects_max = 0;
    http::client calm(of_version(still));
    const http::fetched as_is = co_await calm.get(url_of(at, "/x?to=/echo"));
    EXPECT_EQ(as_is.status(), 302);
  }));
}

DRIVER_TEST(client, "cookies come back to the server that set them") {
  runtime rt(make());
  rt.run(with_server(answer_client, {}, [](address at, http::server&) -> task<> {
    http::client_options with;
    with.cookies = std::make_shared<http::cookie_jar>();
    http::client web(of_version(with));
    const http::fetched first = co_await web.get(url_of(at, "/cookie"));
    EXPECT_EQ(first.body, "");
    const http::fetched second = co_await web.get(url_of(at, "/cookie"));
    EXPECT_EQ(second.body, "id=7");
    http::client without(of_version());
    co_await without.get(url_of(at, "/cookie"));
    const http::fetched none = co_await without.get(url_of(at, "/cookie"));
    EXPECT_EQ(none.body, "");
  }));
}

DRIVER_TEST(client, "a slow answer ends at its deadline, and its connection goes") {
  runtime rt(make());
  rt.run(with_server(answer_client, {}, [](address at, http::server&) -> task<> {
    http::client web(of_version());
    http::outgoing what("GET", url_of(at, "/slow"));
    what.timeout(100ms);
    const std::string said = co_await error_of(web.send(std::move(what)), std::errc::timed_out);
    EXPECT_NE(said.find("GET http://127.0.0.1"), std::string::npos) << said;
    EXPECT_NE(said.find("the whole request was over"), std::string::npos) << said;
    EXPECT_EQ(web.idle(), kept_by_http2());
    const auto stopped = co_await as_expected(with_timeout(web.get(url_of(at, "/slow")), 10ms));
    EXPECT_FALSE(stopped.has_value());
    EXPECT_EQ(web.idle(), kept_by_http2());
  }));
}

task<> get_into(http::client& web, std::string at, int& done) {
  const http::fetched page = co_await web.get(std::move(at));
  done += page.body == "hello\n" ? 1 : 0;
}

DRIVER_TEST(client, "an origin gets no more connections than it may") {
  runtime rt(make());
  rt.run(with_server(answer_client, {}, [](address at, http::server&) -> task<> {
    http::client_options few;
    few.per_origin_max = 2;
    http::client web(of_version(few));
    int done = 0;
    scope s;
    for (int i = 0; i < 20; ++i) s.spawn(get_into(web, url_of(at, "/hello"), done));
    co_await s.join();
    EXPECT_EQ(done, 20);
    EXPECT_LE(web.counters().connections, 2u);
  }));
}

DRIVER_TEST(client, "an answer that is not read to its end closes its connection") {
  runtime rt(make());
  rt.run(with_server(answer_client, {}, [](address at, http::server&) -> task<> {
    http::client web(of_version());
    {
      http::answer a = co_await web.open(http::outgoing("GET", url_of(at, "/large")));
      const std::string_view part = co_await a.read();
      EXPECT_FALSE(part.empty());
    }
    EXPECT_EQ(web.idle(), kept_by_http2());
    const http::fetched whole = co_await web.get(url_of(at, "/large"));
    EXPECT_EQ(whole.body.size(), 3'000'000u);
    EXPECT_EQ(web.idle(), 1u);
  }));
}

DRIVER_TEST(client, "a hedged request passes a slow server, whose connection is closed") {
  runtime rt(make());
  rt.run(with_server(answer_client, {}, [](address at, http::server&) -> task<> {
    http::client web(of_version());
    const std::vector<std::string> replicas = {url_of(at, "/slow"), url_of(at, "/hello")};
    const time_point begun = clock::now();
    const http::fetched got =
        co_await hedged(2, 10ms, [&](std::size_t i) { return web.get(replicas[i]); });
    EXPECT_EQ(got.body, "hello\n");
    EXPECT_GE(clock::now() - begun, 10ms);
    EXPECT_EQ(web.counters().connections, over_http2() ? 1u : 2u);
    EXPECT_EQ(web.idle(), 1u);
  }));
}

DRIVER_TEST(client, "an answer may outlive its client") {
  runtime rt(make());
  rt.run(with_server(answer_client, {}, [](address at, http::server&) -> task<> {
    auto web = std::make_unique<http::client>(of_version());
    http::answer a = co_await web->open(http::outgoing("GET", url_of(at, "/large")));
    web.reset();
    const std::string text = co_await a.text(4'000'000);
    EXPECT_EQ(text.size(), 3'000'000u);
  }));
}

DRIVER_TEST(client, "an answer to half a body is given, and the rest is not sent") {
  runtime rt(make());
  rt.run(with_server(answer_client, {}, [](address at, http::server&) -> task<> {
    http::client web(of_version());
    http::outgoing what("POST", url_of(at, "/early"));
    what.body("text/plain", parts_of(100'000));
    const http::fetched got = co_await web.send(std::move(what));
    EXPECT_EQ(got.status(), 403);
    EXPECT_EQ(got.body, "no");
    EXPECT_EQ(web.idle(), kept_by_http2());
  }));
}

task<http::response> return_parts(http::request& r) {
  http::body_writer out = co_await r.start(http::response(200));
  for (;;) {
    const std::string_view part = co_await r.read();
    if (part.empty()) break;
    co_await out.write(part);
  }
  co_return out.done();
}

HEDDLE_TEST(client, "an answer that is made of the body is read while the body is sent") {
  HEDDLE_NEEDS_TCP();
  runtime rt(std::make_unique<sim_driver>(sim_options{.socket_buffer_bytes = 4096}), one_worker());
  rt.run(with_server(return_parts, {}, [](address at, http::server&) -> task<> {
    http::client web(of_version());
    const std::string body(50'000, 'b');
    http::outgoing what("POST", url_of(at));
    what.body("text/plain", body).timeout(5s);
    const http::fetched got = co_await web.send(std::move(what));
    EXPECT_TRUE(got.body == body);
    EXPECT_EQ(web.idle(), 1U);
  }));
}

DRIVER_TEST(client, "requests that would split or lie are refused before anything is sent") {
  runtime rt(make());
  rt.run([]() -> task<> {
    http::client web(of_version());
    const auto refused = [&](http::outgoing what) {
      return error_of(web.send(std::move(what)), std::errc::invalid_argument);
    };
    const std::string u = "http://127.0.0.1:1/";
    const std::string split = co_await refused(http::outgoing("GET", u).header("A", "b\r\nC: d"));
    EXPECT_NE(split.find("line end"), std::string::npos) << split;
    const std::string length =
        co_await refused(http::outgoing("GET", u).header("content-length", "3"));
    EXPECT_NE(length.find("leave it out"), std::string::npos) << length;
    co_await refused(http::outgoing("G ET", u));
    co_await refused(http::outgoing("CONNECT", u));
    co_await refused(http::outgoing("GET", u).header("A b", "c"));
    co_await refused(http::outgoing("GET", "127.0.0.1"));
    const std::string user = co_await refused(http::outgoing("GET", "http://u:p@127.0.0.1/"));
    EXPECT_NE(user.find("Authorization"), std::string::npos) << user;
    co_await error_of(web.get(u), std::errc::connection_refused);
  }());
}

DRIVER_TEST(client, "a server that takes no body, or does not answer one, is given up in time") {
  runtime rt(make());
  rt.run([]() -> task<> {
    tcp_listener door = tcp_listener::listen(address::loopback(0));
    const address at = door.local();
    http::client_options o;
    o.timeouts.transfer = 100ms;
    o.timeouts.answer = 100ms;
    o.timeouts.whole = 120s;
    http::client web(o);
    for (const std::size_t size : {std::size_t{100'000}, std::size_t{64} << 20}) {
      const time_point since = clock::now();
      const auto got = co_await as_expected(web.post(url_of(at), "a/b", std::string(size, 'x')));
      EXPECT_TRUE(!got && got.error() == std::errc::timed_out);
      EXPECT_LT(clock::now() - since, 60s);
    }
  });
}
DRIVER_TEST(client, "a request's own time limit fails no other request to the origin") {
  runtime rt(make());
  const auto hello = [](http::request&) -> task<http::response> { co_return http::response(200); };
  rt.run(with_server(hello, {}, [](address at, http::server&) -> task<> {
    http::client_options o;
    o.secure = [](stream s, std::string) -> task<stream> {
      co_await sleep_for(200ms);
      co_return s;
    };
    http::client web(o);
    const std::string url = "https://" + at.to_string() + "/";
    const auto [hasty, patient] = co_await all(
        as_expected(web.send(http::outgoing("GET", url).timeout(30ms))), as_expected(web.get(url)));
    EXPECT_FALSE(hasty);
    EXPECT_TRUE(patient) << patient.error().message();
  }));
}
DRIVER_TEST(client, "a body_source has ended when send() ends") {
  runtime rt(make());
  rt.run([]() -> task<> {
    tcp_listener door = tcp_listener::listen(address::loopback(0));
    http::client web;
    bool runs = false;
    const auto parts = [&]() -> task<std::string> {
      runs = true;
      struct mark {
        bool& of;
        ~mark() { of = false; }
      } const at_end{runs};
      co_await shield(sleep_for(50ms), 1s);
      co_return "x";
    };
    static_cast<void>(co_await as_expected(with_timeout(
        web.send(http::outgoing("POST", url_of(door.local())).body("a/b", parts)), 20ms)));
    EXPECT_FALSE(runs);
    co_await sleep_for(100ms);
  });
}
DRIVER_TEST(client, "a coding of no bytes is an empty body") {
  runtime rt(make());
  rt.run([]() -> task<> {
    scripted_server server(
        {{"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: "
          "chunked\r\n\r\n0\r\n\r\n"}});
    tcp_listener door = tcp_listener::listen(address::loopback(0));
    const address at = door.local();
    scope s;
    s.spawn(server.serve(std::move(door)));
    {
      http::client web;
      const auto got = co_await as_expected(web.get(url_of(at)));
      EXPECT_TRUE(got && got->body.empty());
    }
    s.cancel();
    co_await s.settled();
  });
}

HEDDLE_TEST(client, "a client is made and destroyed where no worker runs") {
  const http::client unused;
  EXPECT_EQ(unused.idle(), 0U);
}

}  // namespace
}  // namespace heddle::test
