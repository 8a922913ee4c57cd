// SPDX-License-Identifier: MIT
// HTTP/2 servers that break rules or want a client's memory and time: each ends with an error that
// names what they did and the limit, and the client goes on with the next connection.
#include "client/http2_peer.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

/// The error of a GET when the server answers it like this, and the frames that it then gets.
struct hostile_outcome {
  std::string said;
  std::string frames;
};

using hostile_server = std::function<void(http2_client&)>;

task<hostile_outcome> against(hostile_server sends, std::errc code,
                              http::client_options options = by_prior_knowledge()) {
  hostile_outcome out;
  co_await with_http2_peer([&](address at, listener door) -> task<> {
    http::client web(options);
    scope s;
    s.spawn([](http::client& by, std::string url, std::errc expected, std::string& to) -> task<> {
      to = co_await error_of(by.get(std::move(url)), expected);
    }(web, url_of(at), code, out.said));
    http2_client peer = co_await take_peer(door);
    peer.setting(http::http2_setting::enable_push, 0);
    static_cast<void>(co_await peer.until("HEADERS 1"));
    sends(peer);
    static_cast<void>(co_await as_expected(peer.send()));
    co_await s.join();
    out.frames = co_await peer.next(10ms);
    // Another request has a connection that works.
    peer.shut();
    std::string again;
    s.spawn([](http::client& by, std::string url, std::string& to) -> task<> {
      to = (co_await by.get(std::move(url))).body;
    }(web, url_of(at), again));
    http2_client fresh = co_await take_peer(door);
    fresh.setting(http::http2_setting::enable_push, 0);
    static_cast<void>(co_await fresh.until("HEADERS 1"));
    fresh.headers(1, {{":status", "200"}}, false);
    fresh.data(1, "fine", true);
    co_await fresh.send();
    co_await s.join();
    EXPECT_EQ(again, "fine");
  });
  co_return out;
}

/// Whether both texts are in the outcome.
void expect_outcome(const hostile_outcome& got, const std::string& said,
                    const std::string& frames) {
  EXPECT_NE(got.said.find(said), std::string::npos) << got.said;
  EXPECT_TRUE(got.frames.starts_with(frames)) << got.frames << " after " << got.said;
}

constexpr auto bad = std::errc::bad_message;
constexpr auto limit = std::errc::message_size;

/// What a server sends, what the client says of it, and the frames that it sends then. The tables
/// are made outside of the tests, because GCC 12 takes no lists in coroutines.
struct rule {
  hostile_server sends;
  std::string said, frames;
  std::errc code = bad;
};

std::vector<rule> frames_against_the_rules() {
  const std::string protocol = "GOAWAY 0 1", size = "GOAWAY 0 6", flow = "GOAWAY 0 3";
  const auto raw = [](http2_type type, std::uint8_t flags, std::uint32_t id, std::string bytes) {
    return [=](http2_client& p) { p.frame(type, flags, id, bytes); };
  };
  return {
      {raw(http2_type::push_promise, 4, 1, std::string("\0\0\0\2", 4)), "PUSH_PROMISE", protocol},
      {raw(http2_type::data, 0, 0, "x"), "not open", protocol},
      {raw(http2_type::data, 0, 2, "x"), "not open", protocol},
      {raw(http2_type::data, 0, 3, "x"), "not open", protocol},
      {raw(http2_type::headers, 4, 3, ""), "not open", protocol},
      {raw(http2_type::headers, 12, 1, "\xff"), "padding", protocol},
      {raw(http2_type::data, 8, 1, "\x05x"), "padding", protocol},
      {raw(http2_type::headers, 4, 1, "\xff\xff\xff\xff\xff\xff"), "decoded", "GOAWAY 0 9"},
      {raw(http2_type::rst_stream, 0, 1, "abc"), "four bytes", size},
      {raw(http2_type::rst_stream, 0, 3, "abcd"), "not open", protocol},
      {raw(http2_type::settings, 0, 1, ""), "SETTINGS on a stream", protocol},
      {raw(http2_type::settings, 0, 0, "abc"), "half a setting", size},
      {raw(http2_type::settings, 1, 0, "abcdef"), "no payload", size},
      {raw(http2_type::ping, 0, 0, "abc"), "eight bytes", size},
      {raw(http2_type::ping, 0, 1, "12345678"), "PING on a stream", protocol},
      {raw(http2_type::goaway, 0, 0, "abc"), "short GOAWAY", size},
      {raw(http2_type::window_update, 0, 0, std::string(4, '\0')), "by nothing", protocol},
      {raw(http2_type::window_update, 0, 0, "\x7f\xff\xff\xff"), "window is too large", flow},
      {raw(http2_type::window_update, 0, 5, std::string("\0\0\0\1", 4)), "not open", protocol},
      {raw(http2_type::continuation, 4, 1, ""), "without a header block", protocol},
      {[](http2_client& p) {
         p.frame(http2_type::headers, 0, 1, "");
         p.data(1, "x", false);
       },
       "not ended", protocol},
      {[](http2_client& p) { p.setting(http::http2_setting::enable_push, 1); }, "ENABLE_PUSH",
       protocol},
      {[](http2_client& p) { p.setting(http::http2_setting::max_frame_size, 5); }, "MAX_FRAME_SIZE",
       protocol},
      {[](http2_client& p) { p.setting(http::http2_setting::initial_window_size, 0x80000000); },
       "INITIAL_WINDOW_SIZE", flow},
      {[](http2_client& p) {
         p.setting(http::http2_setting::enable_connect_protocol, 1);
         p.setting(http::http2_setting::enable_connect_protocol, 0);
       },
       "ENABLE_CONNECT_PROTOCOL", protocol},
      {[](http2_client& p) {
         http::put_http2_head(p.out, 16385, http2_type::data, 0, 1);
         p.out.append(16385, 'x');
       },
       "SETTINGS_MAX_FRAME_SIZE", size},
  };
}

hostile_server answer_of(std::vector<std::pair<std::string, std::string>> fields,
                         std::string body = "") {
  return [fields = std::move(fields), body = std::move(body)](http2_client& p) {
    p.headers(1, fields, body.empty());
    if (!body.empty()) p.data(1, body, true);
  };
}

std::vector<rule> malformed_answers() {
  const std::string reset = "RST_STREAM 1 1", sent = "the server sent ";
  return {
      {answer_of({{"x", "y"}}), sent, reset},
      {answer_of({{":status", "20"}}), sent, reset},
      {answer_of({{":status", "101"}}), sent, reset},
      {answer_of({{":status", "abc"}}), sent, reset},
      {answer_of({{":status", "200"}, {":status", "200"}}), sent, reset},
      {answer_of({{":status", "200"}, {":path", "/"}}), sent, reset},
      {answer_of({{"x", "y"}, {":status", "200"}}), sent, reset},
      {answer_of({{":status", "200"}, {"Upper", "y"}}), sent, reset},
      {answer_of({{":status", "200"}, {"connection", "close"}}), sent, reset},
      {answer_of({{":status", "200"}, {"transfer-encoding", "chunked"}}), sent, reset},
      {answer_of({{":status", "200"}, {"x", "a\r\nb: c"}}), sent, reset},
      {answer_of({{":status", "200"}, {"content-length", "x"}}), sent, reset},
      {answer_of({{":status", "103"}}), sent, reset},
      {answer_of({{":status", "200"}, {"content-length", "1"}}, "two"), "more of a body", reset},
      {answer_of({{":status", "200"}, {"content-length", "5"}}, "two"), "2 bytes before the end",
       reset, std::errc::connection_reset},
      {answer_of({{":status", "204"}}, "two"), "a body where none", reset},
      {[](http2_client& p) { p.data(1, "x", true); }, "before the head", reset},
      {[](http2_client& p) { p.window(1, 0x7fffffff); }, "window that is too large",
       "RST_STREAM 1 3"},
      {[](http2_client& p) { p.window(1, 0); }, "by nothing", reset},
      {[](http2_client& p) {
         p.headers(1, {{":status", "200"}}, false);
         p.headers(1, {{"x", "y"}}, false);
       },
       "bad trailers", reset},
  };
}

DRIVER_TEST(client_http2_hostile, "frames that are against the rules end the connection") {
  runtime rt(make());
  rt.run([]() -> task<> {
    const std::vector<rule> rules = frames_against_the_rules();
    for (const rule& r : rules) {
      const hostile_outcome got = co_await against(r.sends, bad);
      expect_outcome(got, r.said, r.frames);
      EXPECT_NE(got.said.find("breaks the rules of HTTP/2"), std::string::npos) << got.said;
    }
  }());
}

DRIVER_TEST(client_http2_hostile, "an answer that is malformed ends its stream alone") {
  runtime rt(make());
  rt.run([]() -> task<> {
    const std::vector<rule> rules = malformed_answers();
    for (const rule& r : rules) {
      const hostile_outcome got = co_await against(r.sends, r.code);
      expect_outcome(got, r.said, r.frames);
    }
  }());
}

DRIVER_TEST(client_http2_hostile, "more than the windows allow is never taken") {
  runtime rt(make());
  rt.run([]() -> task<> {
    http::client_options narrow = by_prior_knowledge();
    narrow.http2.stream_window = 900;
    const auto frame = [](http2_client& p) {
      p.headers(1, {{":status", "200"}}, false);
      p.data(1, std::string(1000, 'd'), false);
    };
    expect_outcome(co_await against(frame, bad, narrow), "more DATA than the stream's window",
                   "RST_STREAM 1 3");
    co_await with_http2_peer([](address at, listener door) -> task<> {
      http::client_options wide = by_prior_knowledge();
      wide.http2.stream_window = 1'000'000;
      wide.http2.connection_window = 0;  // the least is 65,535
      http::client web(wide);
      scope s;
      s.spawn([](http::client& by, std::string url) -> task<> {
        http::answer a = co_await by.open(http::outgoing("GET", std::move(url)));
        co_await sleep_for(50ms);  // does not read, so the windows do not move
        const auto text = co_await as_expected(a.text(1'000'000));
        EXPECT_EQ(text.error(), std::errc::bad_message);
      }(web, url_of(at)));
      http2_client peer = co_await take_peer(door);
      peer.setting(http::http2_setting::enable_push, 0);
      static_cast<void>(co_await peer.until("HEADERS 1"));
      peer.headers(1, {{":status", "200"}}, false);
      for (int i = 0; i < 5; ++i) peer.data(1, std::string(16'000, 'd'), false);
      EXPECT_TRUE((co_await peer.until("GOAWAY")).starts_with("GOAWAY 0 3"));
      co_await s.join();
    });
  }());
}

DRIVER_TEST(client_http2_hostile, "floods end at a limit, which the error names") {
  runtime rt(make());
  rt.run([]() -> task<> {
    struct flood {
      hostile_server sends;
      std::string said, frames;
    };
    const auto many = [](int count, std::function<void(http2_client&)> one) {
      return [=](http2_client& p) {
        for (int i = 0; i < count; ++i) one(p);
      };
    };
    const std::string calm = "GOAWAY 0 11";
    const std::vector<flood> floods = {
        {[](http2_client& p) {
           p.frame(http2_type::headers, 0, 1, "");
           for (int i = 0; i < 20; ++i) p.frame(http2_type::continuation, 0, 1, "");
         },
         "http2.continuations_max", calm},
        {[](http2_client& p) {
           p.frame(http2_type::headers, 0, 1, "");
           for (int i = 0; i < 5; ++i)
             p.frame(http2_type::continuation, 0, 1, std::string(16'000, '\x82'));
         },
         "http2.header_block_bytes_max", calm},
        {[&](http2_client& p) {
           p.headers(1, {{":status", "200"}}, false);
           many(20, [](http2_client& q) { q.data(1, "", false); })(p);
         },
         "http2.empty_frames_max", calm},
        {many(30, [](http2_client& p) { p.setting(http::http2_setting::enable_push, 0); }),
         "http2.settings_max", calm},
        {many(200, [](http2_client& p) { p.frame(http2_type::ping, 0, 0, "12345678"); }),
         "http2.acknowledgements_max", "PING"},
        {many(1100, [](http2_client& p) { p.frame(http2_type::ping, 1, 0, "12345678"); }),
         "http2.glitches_max", calm},
        {many(1100, [](http2_client& p) { p.frame(http2_type::priority, 0, 1, "12345"); }),
         "http2.glitches_max", calm},
        {many(1100, [](http2_client& p) { p.window(0, 1); }), "http2.glitches_max", calm},
        {many(1100, [](http2_client& p) { p.frame(static_cast<http2_type>(99), 0, 0, ""); }),
         "http2.glitches_max", calm},
        {many(20, [](http2_client& p) { p.headers(1, {{":status", "103"}}, false); }),
         "informational_max", "RST_STREAM 1 8"},
        {[](http2_client& p) {
           std::vector<std::pair<std::string, std::string>> fields = {{":status", "200"}};
           for (int i = 0; i < 150; ++i) fields.emplace_back("a", "b");
           p.headers(1, fields);
         },
         "bad head", "RST_STREAM 1 8"},
    };
    for (const flood& f : floods) {
      const hostile_outcome got = co_await against(f.sends, limit);
      EXPECT_NE(got.said.find(f.said), std::string::npos) << got.said;
      EXPECT_TRUE(got.frames.starts_with(f.frames)) << got.frames << " after " << f.said;
    }
    // A head that is small on the wire, and large when it is unpacked: HPACK repeats a field.
    const auto bomb = [](http2_client& p) {
      std::string block;
      http::hpack_encode(block, ":status", "200");
      block.append(
          "\x40\x01"
          "a",
          3);  // a literal that the table keeps
      block.append("\x7f\xa1\x1e", 3).append(4000, 'v');
      block.append(12'000, '\xbe');  // the newest field of the table, 12,000 times
      http::put_header_block(p.out, block, 1, true);
    };
    expect_outcome(co_await against(bomb, limit), "bad head", "RST_STREAM 1 8");
  }());
}

struct bad_head {
  std::vector<std::pair<std::string, std::string>> fields;
  std::string said;
  std::errc code = bad;
};

std::vector<bad_head> heads_with_one_fault() {
  std::vector<bad_head> all = {
      {{{":status", "200"}, {":status", "404"}}, "more than one :status"},
      {{{"a", "b"}, {":status", "200"}}, "follows other fields"},
      {{{"a", "b"}}, "has no :status"},
      {{{":status", "99"}}, "no status of three digits"},
      {{{":status", "20x"}}, "no status of three digits"},
      {{{":status", "101"}}, "no status of three digits that HTTP/2 has"},
      {{{":status", "200"}, {":path", "/"}}, "no pseudo-header field but :status"},
      {{{":status", "200"}, {"", "b"}}, "has no name"},
      {{{":status", "200"}, {"a:", "b"}}, "not allowed in names"},
      {{{":status", "200"}, {"A", "b"}}, "capital letter"},
      {{{":status", "200"}, {"a", " b"}}, "begins or ends with a blank"},
      {{{":status", "200"}, {"a", "b\n"}}, "control character"},
      {{{":status", "200"}, {"connection", "close"}}, "about one connection"},
      {{{":status", "200"}, {"content-length", "-1"}},
       "Content-Length is not a plain decimal number"},
      {{{":status", "200"}}, "more field lines than the limit", limit},
  };
  for (int i = 0; i < 101; ++i) all.back().fields.emplace_back("a", "b");
  return all;
}

DRIVER_TEST(client_http2_hostile, "the error of a bad head names the broken rule") {
  runtime rt(make());
  rt.run([]() -> task<> {
    for (const bad_head& each : heads_with_one_fault()) {
      const hostile_outcome got =
          co_await against([&each](http2_client& p) { p.headers(1, each.fields); }, each.code);
      EXPECT_NE(got.said.find(each.said), std::string::npos) << got.said << ": " << each.said;
      EXPECT_EQ(got.said.find("HTTP/1.1"), std::string::npos) << got.said;
    }
  }());
}

DRIVER_TEST(client_http2_hostile, "a server that speaks HTTP/1.1, nothing, or garbage") {
  runtime rt(make());
  rt.run([]() -> task<> {
    for (const auto& [bytes, said] :
         {std::pair<std::string, std::string>{"HTTP/1.1 400 No\r\n\r\n", "prior_knowledge"},
          {std::string(100, 'x'), "it does not begin with SETTINGS; is it HTTP/2?"},
          {std::string("\0\0\0\1\4\0\0\0\1", 9), "the first frame is no SETTINGS"},
          {std::string("\0\0\0\4\1\0\0\0\0", 9), "the first frame is no SETTINGS"}}) {
      co_await with_http2_peer([&](address at, listener door) -> task<> {
        http::client web(by_prior_knowledge());
        std::string got;
        scope s;
        s.spawn([](http::client& by, std::string url, std::string& to) -> task<> {
          to = co_await error_of(by.get(std::move(url)), std::errc::bad_message);
        }(web, url_of(at), got));
        const stream conn = co_await door.accept();
        co_await conn.write(std::string_view(bytes));
        co_await s.join();
        EXPECT_NE(got.find(said), std::string::npos) << got;
      });
    }
    co_await with_http2_peer([](address at, listener door) -> task<> {
      http::client web(by_prior_knowledge());
      scope s;
      s.spawn([](http::client& by, std::string url) -> task<> {
        http::outgoing what("GET", std::move(url));
        what.timeout(20ms);
        const std::string got = co_await error_of(by.send(std::move(what)), std::errc::timed_out);
        EXPECT_NE(got.find("the whole request was over"), std::string::npos) << got;
      }(web, url_of(at)));
      const stream conn = co_await door.accept();
      co_await s.join();
    });
  }());
}

}  // namespace
}  // namespace heddle::test
