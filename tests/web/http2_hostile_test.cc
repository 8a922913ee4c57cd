// SPDX-License-Identifier: MIT
// HTTP/2 clients that break the rules or only keep the server busy (RFC 9113 section 10.5): each
// ends alone, and memory stays bounded.
#include <string>

#include "web/http2_client.hh"

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

task<http::response> answer_any2(http::request& r) {
  if (r.path() == "/wait") co_await sleep_for(10s);
  if (r.path() == "/read") co_return http::response(200).text(co_await r.text());
  co_return http::response(200).text("x");
}

/// What a client gets that sends this; the last line but for "closed".
void expect_end(const driver_maker& make, const char* wanted, void (*prepare)(http2_client&)) {
  runtime rt(make());
  rt.run(with_server(answer_any2, {}, [&](address at, http::server&) -> task<> {
    http2_client c(co_await connect_to(at));
    prepare(c);
    const std::string all = co_await c.until("closed");
    EXPECT_NE(all.find(wanted), std::string::npos) << all.substr(0, 2000);
    http2_client other(co_await connect_to(at));  // others are served
    other.get(1, "/a");
    EXPECT_TRUE((co_await other.until("DATA")).ends_with("DATA 1 1 END\n"));
  }));
}

}  // namespace

DRIVER_TEST(http2_hostile, "rapid reset ends the connection (CVE-2023-44487)") {
  expect_end(make, " 11\n", [](http2_client& c) {
    for (std::uint32_t id = 1; id < 600; id += 2) {
      c.get(id, "/wait");
      http::put_rst_stream(c.out, id, http2_error::cancel);
    }
  });
}

DRIVER_TEST(http2_hostile, "resets that the server is made to send count too (CVE-2025-8671)") {
  expect_end(make, " 11", [](http2_client& c) {
    for (std::uint32_t id = 1; id < 600; id += 2) {
      c.request(id, "POST", "/wait", {}, false);
      c.window(id, 0);
    }
  });
}

DRIVER_TEST(http2_hostile, "a header block has an end (CONTINUATION flood)") {
  expect_end(make, "GOAWAY 0 11", [](http2_client& c) {
    c.frame(http2_type::headers, 0, 1, "");
    for (int i = 0; i < 20; ++i) c.frame(http2_type::continuation, 0, 1, "");
  });
}

DRIVER_TEST(http2_hostile, "a field that is too long is refused, and the connection goes on") {
  runtime rt(make());
  rt.run(with_server(answer_any2, {}, [](address at, http::server& web) -> task<> {
    http2_client c(co_await connect_to(at));
    std::uint32_t id = 1;
    for (const std::size_t size : {17'000, 20'000}) {  // by Huffman's code less than a frame
      std::string block;
      for (const auto& [name, value] : {std::pair(":method", "GET"), std::pair(":scheme", "http"),
                                        std::pair(":path", "/"), std::pair(":authority", "x")})
        http::hpack_encode(block, name, value);
      const std::string value(size, 'a');
      http::hpack_encode(block, "x-long", value);
      http::put_header_block(c.out, block, id, true);
      const std::string got = co_await c.until("DATA " + std::to_string(id));
      EXPECT_TRUE(got.find(":status=431") != got.npos) << got;
      id += 2;
    }
    EXPECT_EQ(web.counters().heads_too_large, 2u);
    c.get(id, "/a");
    EXPECT_TRUE((co_await c.until("DATA 5")).ends_with("DATA 5 1 END\n"));
  }));
}

DRIVER_TEST(http2_hostile, "fields that a small block unpacks to are too many (HPACK bomb)") {
  runtime rt(make());
  rt.run(with_server(answer_any2, {}, [](address at, http::server& web) -> task<> {
    http2_client c(co_await connect_to(at));
    std::string block;
    for (const auto& [name, value] : {std::pair(":method", "GET"), std::pair(":scheme", "http"),
                                      std::pair(":path", "/"), std::pair(":authority", "x")})
      http::hpack_encode(block, name, value);
    block +=
        "\x40\x01"
        "b";  // one field that enters the table, and then its index very often
    http::hpack_put_number(block, 0, 7, 3000);
    block.append(3000, 'v');
    for (int i = 0; i < 10'000; ++i) block += '\xbe';
    http::put_header_block(c.out, block, 1, true);
    EXPECT_TRUE((co_await c.until("DATA 1")).starts_with("HEADERS 1 :status=431"));
    EXPECT_EQ(web.counters().heads_too_large, 1u);
    c.get(3, "/a");  // the tables of both ends agree still
    EXPECT_TRUE((co_await c.until("DATA 3")).ends_with("DATA 3 1 END\n"));
  }));
}

DRIVER_TEST(http2_hostile, "floods of SETTINGS, PING, PRIORITY and empty DATA end") {
  expect_end(make, " 11", [](http2_client& c) {
    for (int i = 0; i < 100; ++i) c.frame(http2_type::settings, 0, 0, "");
  });
  expect_end(make, " 11", [](http2_client& c) {
    for (int i = 0; i < 5000; ++i) c.frame(http2_type::ping, 0, 0, "12345678");
  });
  expect_end(make, " 11", [](http2_client& c) {
    for (int i = 0; i < 5000; ++i) c.frame(http2_type::priority, 0, 3, std::string(5, '\0'));
  });
  expect_end(make, " 11", [](http2_client& c) {
    c.request(1, "POST", "/read", {}, false);
    for (int i = 0; i < 50; ++i) c.data(1, "", false);
  });
}

DRIVER_TEST(http2_hostile, "more streams than allowed are refused, and may be tried again") {
  runtime rt(make());
  rt.run(with_server(answer_any2, {}, [](address at, http::server&) -> task<> {
    http2_client c(co_await connect_to(at));
    for (std::uint32_t id = 1; id <= 2 * 101; id += 2) c.get(id, "/wait");
    EXPECT_EQ(co_await c.until("RST_STREAM"), "RST_STREAM 201 7\n");
    c.shut();
  }));
}

DRIVER_TEST(http2_hostile, "windows are kept by both ends") {
  expect_end(make, "GOAWAY 0 3", [](http2_client& c) {
    c.window(0, 0x7fffffff);
    c.window(0, 0x7fffffff);
  });
  runtime rt(make());
  rt.run(with_server(answer_any2, {}, [](address at, http::server&) -> task<> {
    http2_client c(co_await connect_to(at));
    c.request(1, "POST", "/wait", {}, false);  // a handler that does not read
    for (int i = 0; i < 5; ++i) c.data(1, std::string(16'000, 'x'), false);
    EXPECT_EQ(co_await c.until("RST_STREAM"), "RST_STREAM 1 3\n");
    c.shut();
  }));
}

DRIVER_TEST(http2_hostile, "a client that takes nothing is given up") {
  runtime rt(make());
  http::server_options options;
  options.write_timeout = 50ms;
  rt.run(with_server(answer_any2, options, [](address at, http::server& web) -> task<> {
    http2_client c(co_await connect_to(at));
    c.setting(http::http2_setting::initial_window_size, 0);
    c.get(1, "/a");
    EXPECT_TRUE((co_await c.until("RST_STREAM")).ends_with("RST_STREAM 1 2\n"));
    EXPECT_EQ(web.counters().write_timeouts, 1u);
  }));
}

DRIVER_TEST(http2_hostile, "requests that are malformed are errors of their stream") {
  runtime rt(make());
  rt.run(with_server(answer_any2, {}, [](address at, http::server&) -> task<> {
    http2_client c(co_await connect_to(at));
    using fields = std::vector<std::pair<std::string, std::string>>;
    const fields good = {{":method", "GET"}, {":scheme", "http"}, {":path", "/"}};
    std::vector<fields> bad;
    for (const fields& more :
         {fields{{"connection", "close"}}, fields{{"te", "gzip"}},
          fields{{"transfer-encoding", "chunked"}}, fields{{"X-Upper", "1"}}, fields{{"a b", "1"}},
          fields{{"x", "a\r\nb: c"}}, fields{{":path", "/b"}}, fields{{":unknown", "1"}},
          fields{{"a", "1"}, {":authority", "x"}}, fields{{"content-length", "5"}},
          fields{{"host", "a b"}}, fields{{"x", " a"}}, fields{{"x", "a\t"}}}) {
      bad.push_back(good);
      bad.back().insert(bad.back().end(), more.begin(), more.end());
    }
    bad.push_back({{":method", "GET"}, {":scheme", "http"}});
    bad.push_back({{":method", "GET"}, {":scheme", "http"}, {":path", ""}});
    bad.push_back({{":method", "GET"}, {":scheme", "http"}, {":path", "/a b"}});
    bad.push_back({{":method", "G T"}, {":scheme", "http"}, {":path", "/"}});
    std::uint32_t id = 1;
    for (const fields& each : bad) {
      c.headers(id, each);
      EXPECT_EQ(co_await c.until("RST_STREAM"), "RST_STREAM " + std::to_string(id) + " 1\n")
          << each.back().first;
      id += 2;
    }
  }));
}
