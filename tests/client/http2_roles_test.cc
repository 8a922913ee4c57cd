// SPDX-License-Identifier: MIT
// Both ends of HTTP/2 read frames by one code (http/http2_receive.cc). Each rule here is tried on a
// server and on a client, and random frames must have the same effect on both.
#include <random>

#include "client/http2_peer.hh"
#include "support/seeds.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

using frames_of_peer = std::function<void(http2_client&)>;

/// Frames that the peer got, each in a line, until PING or the end; without those of bodies.
task<std::string> effects(http2_client& peer) {
  static_cast<void>(co_await as_expected(peer.send()));
  std::string all;
  for (;;) {
    auto one = co_await as_expected(peer.next());
    if (!one || *one == "closed" || *one == "PING the end.") co_return all;
    if (one->starts_with("GOAWAY")) *one = "GOAWAY" + one->substr(one->rfind(' '));
    if (!one->starts_with("HEADERS") && !one->starts_with("DATA")) all += *one + "\n";
  }
}

task<http::response> never_answers(http::request&) {
  co_await sleep_for(600s);
  co_return http::response(200);
}

/// The effects on our server, whose handler waits. Stream 1 is open, and its head has come.
task<std::string> effects_on_server(frames_of_peer sends) {
  std::string got;
  co_await with_server(never_answers, {}, [&](address at, http::server& web) -> task<> {
    http2_client peer(co_await connect_to(at));
    peer.request(1, "POST", "/", {}, false);
    sends(peer);
    got = co_await effects(peer);
    peer.shut();
    while (web.counters().open != 0) co_await sleep_for(1ms);
  });
  co_return got;
}

/// A client's task that reads an answer; its outcome does not count here.
task<> ask(http::client& by, std::string url) {
  static_cast<void>(co_await as_expected(by.get(std::move(url))));
}

/// The same on our client, whose stream 1 is open and has a head.
task<std::string> effects_on_client(frames_of_peer sends) {
  std::string got;
  co_await with_http2_peer([&](address at, listener door) -> task<> {
    http::client web(by_prior_knowledge());
    scope s;
    s.spawn(ask(web, url_of(at)));
    http2_client peer = co_await take_peer(door);
    peer.setting(http::http2_setting::enable_push, 0);
    static_cast<void>(co_await peer.until("HEADERS 1"));
    peer.headers(1, {{":status", "200"}}, false);
    sends(peer);
    got = co_await effects(peer);
    peer.shut();
    s.cancel();
    static_cast<void>(co_await as_expected(s.join()));
  });
  co_return got;
}

struct role_rule {
  const char* name;
  frames_of_peer sends;
  std::string effect;
};

frames_of_peer raw(http2_type type, std::uint8_t flags, std::uint32_t id, std::string bytes) {
  return [=](http2_client& p) { p.frame(type, flags, id, bytes); };
}
frames_of_peer often(int times, frames_of_peer one) {
  return [=](http2_client& p) {
    for (int i = 0; i < times; ++i) one(p);
  };
}

std::vector<role_rule> rules_of_both_roles() {
  using enum http2_type;
  const std::string zero(4, '\0');
  const std::string protocol = "GOAWAY 1\n", flow = "GOAWAY 3\n", size = "GOAWAY 6\n",
                    calm = "GOAWAY 11\n";
  return {
      {"DATA on stream 0", raw(data, 0, 0, "x"), protocol},
      {"DATA on an even stream", raw(data, 0, 2, "x"), protocol},
      {"DATA on an idle stream", raw(data, 0, 3, "x"), protocol},
      {"DATA with more padding than bytes", raw(data, 8, 1, "\x05x"), protocol},
      {"DATA without bytes", often(50, raw(data, 0, 1, "")), calm},
      {"HEADERS on an even stream", raw(headers, 4, 2, ""), protocol},
      {"HEADERS with more padding than bytes", raw(headers, 12, 1, "\xff"), protocol},
      {"HEADERS with half a priority", raw(headers, 0x24, 1, "abc"), size},
      {"HEADERS that depend on themselves", raw(headers, 0x24, 1, std::string("\0\0\0\1\1", 5)),
       protocol},
      {"a block that cannot be decoded", raw(headers, 5, 1, "\xff\xff\xff\xff\xff\xff"),
       "GOAWAY 9\n"},
      {"trailers that do not end", raw(headers, 4, 1, ""), "RST_STREAM 1 1\n"},
      {"trailers with a pseudo-field", [](http2_client& p) { p.headers(1, {{":status", "200"}}); },
       "RST_STREAM 1 1\n"},
      {"another frame in a header block",
       [](http2_client& p) {
         p.frame(headers, 0, 1, "");
         p.data(1, "x", false);
       },
       protocol},
      {"too many CONTINUATION frames",
       [](http2_client& p) {
         p.frame(headers, 0, 1, "");
         for (int i = 0; i < 2000; ++i) p.frame(continuation, 0, 1, "");
       },
       calm},
      {"a header block without end",
       [](http2_client& p) {
         p.frame(headers, 0, 1, std::string(16'000, '\x40'));
         for (int i = 0; i < 7; ++i) p.frame(continuation, 0, 1, std::string(16'000, '\x40'));
       },
       calm},
      {"CONTINUATION without a block", raw(continuation, 4, 1, ""), protocol},
      {"PRIORITY on stream 0", raw(priority, 0, 0, std::string(5, '\0')), protocol},
      {"PRIORITY of four bytes", raw(priority, 0, 1, zero), "RST_STREAM 1 6\n"},
      {"PRIORITY on itself", raw(priority, 0, 1, std::string("\0\0\0\1\1", 5)), "RST_STREAM 1 1\n"},
      {"PRIORITY often", often(5000, raw(priority, 0, 3, std::string(5, '\0'))), calm},
      {"RST_STREAM of three bytes", raw(rst_stream, 0, 1, "abc"), size},
      {"RST_STREAM on stream 0", raw(rst_stream, 0, 0, zero), protocol},
      {"RST_STREAM on an idle stream", raw(rst_stream, 0, 3, zero), protocol},
      {"SETTINGS on a stream", raw(settings, 0, 1, ""), protocol},
      {"half a setting", raw(settings, 0, 0, "abc"), size},
      {"an acknowledgement with a payload", raw(settings, 1, 0, "abcdef"), size},
      {"SETTINGS often", often(100, raw(settings, 0, 0, "")), calm},
      {"acknowledgements often", often(5000, raw(settings, 1, 0, "")), calm},
      {"too many settings in one frame", raw(settings, 0, 0, std::string(6 * 200, '\xaa')), calm},
      {"MAX_FRAME_SIZE of 5",
       [](http2_client& p) { p.setting(http::http2_setting::max_frame_size, 5); }, protocol},
      {"INITIAL_WINDOW_SIZE above 2^31",
       [](http2_client& p) { p.setting(http::http2_setting::initial_window_size, 0x80000000); },
       flow},
      {"PUSH_PROMISE", raw(push_promise, 4, 1, std::string("\0\0\0\2", 4)), protocol},
      {"PING of three bytes", raw(ping, 0, 0, "abc"), size},
      {"PING on a stream", raw(ping, 0, 1, "12345678"), protocol},
      {"PING often", often(5000, raw(ping, 0, 0, "12345678")), calm},
      {"answers to no PING", often(5000, raw(ping, 1, 0, "12345678")), calm},
      {"GOAWAY of three bytes", raw(goaway, 0, 0, "abc"), size},
      {"GOAWAY on a stream", raw(goaway, 0, 1, std::string(8, '\0')), protocol},
      {"WINDOW_UPDATE of three bytes", raw(window_update, 0, 1, "abc"), size},
      {"a window of the connection that grows by nothing", raw(window_update, 0, 0, zero),
       protocol},
      {"a window of a stream that grows by nothing", raw(window_update, 0, 1, zero),
       "RST_STREAM 1 1\n"},
      {"a window of the connection that is too large", raw(window_update, 0, 0, "\x7f\xff\xff\xff"),
       flow},
      {"a window of a stream that is too large", raw(window_update, 0, 1, "\x7f\xff\xff\xff"),
       "RST_STREAM 1 3\n"},
      {"WINDOW_UPDATE on an idle stream", raw(window_update, 0, 5, "\1\1\1\1"), protocol},
      {"a frame that is too large", raw(ping, 0, 0, std::string(16'385, 'x')), size},
      {"PRIORITY_UPDATE on a stream", raw(priority_update, 0, 1, "\0\0\0\1u=1"), protocol},
      {"PRIORITY_UPDATE of three bytes", raw(priority_update, 0, 0, "abc"), size},
      {"frames of unknown types", often(5000, raw(static_cast<http2_type>(77), 0, 0, "x")), calm},
      {"a good end", [](http2_client& p) { p.data(1, "x", true); }, ""},
  };
}

/// The same with a PING behind, whose answer shows that all has been read.
frames_of_peer and_ping(frames_of_peer first) {
  return [first = std::move(first)](http2_client& p) {
    first(p);
    p.frame(http2_type::ping, 0, 0, "the end.");
  };
}

/// Frames of random types, flags and sizes, until one that ends stream 1 or the connection.
void put_random_frames(http2_client& to, unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](unsigned most) { return static_cast<unsigned>(random() % most); };
  const auto bytes = [&](std::size_t size) {
    std::string all(size, '\0');
    for (char& c : all) c = static_cast<char>(below(3) == 0 ? below(256) : below(2));
    return all;
  };
  using enum http2_type;
  constexpr http2_type types[] = {data, headers, priority,      rst_stream,   settings,
                                  ping, goaway,  window_update, continuation, priority_update};
  for (int i = 0; i < 12; ++i) {
    const http2_type type = types[below(std::size(types))];
    const std::uint32_t id = below(8) == 0                       ? below(4)
                             : (type == data || type == headers) ? 1
                                                                 : below(2);
    const std::uint8_t flags = below(4) == 0 ? static_cast<std::uint8_t>(1u << below(6)) : 0;
    switch (type) {
      case data:
        to.frame(type, flags, id, bytes(below(20)));
        if ((flags & 1) != 0) return;
        break;
      case headers:
        if (below(2) == 0) {
          to.headers(1, {{"x-trailer", "1"}});
        } else {
          // A client may open stream 3, and a server may not.
          to.frame(type, flags | 4, std::min(id, 2u), bytes(below(6)));
        }
        return;
      case rst_stream:
        to.frame(type, flags, id, below(3) == 0 ? bytes(below(8)) : std::string("\0\0\0\2", 4));
        return;
      case settings:  // those that both roles read alike
        if (below(3) == 0) {
          to.frame(type, flags, id, bytes(below(5)));
        } else {
          to.setting(below(2) == 0 ? http::http2_setting::initial_window_size
                                   : http::http2_setting::max_frame_size,
                     below(2) == 0 ? 16'384 + below(70'000) : static_cast<std::uint32_t>(random()));
        }
        break;
      case goaway:  // only bad ones, because a good one means different things to the roles
        to.frame(type, flags, id == 0 ? 1 : id, bytes(below(12)));
        break;
      case priority_update:
        to.frame(type, flags, 1, bytes(below(8)));
        break;
      case priority:
        to.frame(type, flags, id, bytes(below(2) == 0 ? 5 : below(8)));
        break;
      case window_update:
        to.frame(type, flags, id, bytes(below(4) != 0 ? 4 : below(8)));
        break;
      case ping:
        to.frame(type, flags & 0xfe, id, bytes(below(4) != 0 ? 8 : below(12)));
        break;
      default:
        to.frame(type, flags, id, bytes(below(12)));
        break;
    }
  }
}

}  // namespace

DRIVER_TEST(http2_roles, "a server and a client keep the same rules") {
  for (const role_rule& each : rules_of_both_roles()) {
    for (const bool server : {true, false}) {
      runtime rt(make());
      rt.run([&]() -> task<> {
        const frames_of_peer sends = and_ping(each.sends);
        std::string got;
        if (server) got = co_await effects_on_server(sends);
        if (!server) got = co_await effects_on_client(sends);
        EXPECT_TRUE(got.ends_with(each.effect))
            << each.name << " to a " << (server ? "server" : "client") << ": " << got;
        EXPECT_EQ(got.empty(), each.effect.empty()) << each.name << ": " << got;
      });
    }
  }
}

HEDDLE_TEST(http2_roles, "random frames have the same effect on both roles") {
  std::uint64_t ended = 0;
  const auto all = for_seeds(1000, [&](std::uint64_t seed) {
    std::string got[2];
    for (const bool server : {true, false}) {
      runtime rt(std::make_unique<sim_driver>());
      rt.run([&]() -> task<> {
        const frames_of_peer sends = and_ping(
            [seed](http2_client& p) { put_random_frames(p, static_cast<unsigned>(seed)); });
        if (server) got[server] = co_await effects_on_server(sends);
        if (!server) got[server] = co_await effects_on_client(sends);
      });
    }
    EXPECT_EQ(got[true], got[false]) << "the server's frames, and the client's";
    if (!got[true].empty()) ++ended;
  });
  if (!judges_totals(all, 100)) return;
  EXPECT_GT(ended, all.ran / 4);  // most programs do something
}

}  // namespace heddle::test
