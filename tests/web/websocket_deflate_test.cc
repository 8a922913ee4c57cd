// SPDX-License-Identifier: MIT
// permessage-deflate, by the sections of RFC 7692: what is agreed on, messages, limits.
#include "web/websocket_deflate.hh"

#include "heddle/http/content_coding.hh"
#include "heddle/http/detail/websocket_frames.hh"
#include "heddle/web/websocket.hh"
#include "web/harness.hh"

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

constexpr std::uint8_t whole_window = 15;

/// Reads the frames of a server in pieces: the message, or "failed" and the code.
std::string unpacked(std::string frames, std::size_t piece, std::uint64_t most = 1000) {
  http::websocket_reader r({most, 8, false, &http::inflate_websocket});
  for (std::size_t at = 0; at < frames.size(); at += piece) {
    std::span<char> in(frames.data() + at, std::min(piece, frames.size() - at));
    while (!in.empty()) {
      const http::websocket_reader::event e = r.read(in);
      if (e == http::websocket_reader::event::message) {
        EXPECT_TRUE(r.is_compressed());
        return r.take_message();
      }
      if (e == http::websocket_reader::event::failed) return "failed " + std::to_string(r.code());
    }
  }
  return "more";
}

std::string packed_frame(std::string_view payload) {
  return std::string(http::make_websocket_head(http::websocket_opcode::text, true, true,
                                               payload.size(), false, 0)
                         .text()) +
         std::string(payload);
}

task<http::response> packing_echo(http::request& r) {
  const http::websocket_options options{.message_bytes_max = 100'000,
                                        .deflate = r.path() != "/plain"};
  co_return co_await http::hand_to_websocket(
      r,
      [](http::websocket ws) -> task<> {
        while (auto m = co_await ws.receive()) co_await ws.send(*m);
      },
      options);
}

std::string hello_with(std::string_view extensions, std::string_view path = "/") {
  return "GET " + std::string(path) +
         " HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
         "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
         "Sec-WebSocket-Extensions: " +
         std::string(extensions) + "\r\n\r\n";
}

}  // namespace

HEDDLE_TEST(websocket_deflate, "RFC 7692 5 and 7.1: offers, and which of them is agreed to") {
  if (!http::can_compress()) return;
  for (const auto& [offer, bits] :
       {std::pair("permessage-deflate", 15), std::pair("permessage-deflate; x=1", 0),
        std::pair("x-other, permessage-deflate; client_max_window_bits", 15),
        std::pair("permessage-deflate; client_max_window_bits=\"10\"", 15),
        std::pair("permessage-deflate;server_max_window_bits=10, permessage-deflate", 10),
        std::pair("permessage-deflate; server_max_window_bits=8, permessage-deflate", 15),
        std::pair("permessage-deflate; server_max_window_bits=8", 0),
        std::pair("permessage-deflate; server_max_window_bits=16", 0),
        std::pair("permessage-deflate; server_max_window_bits", 0),
        std::pair("permessage-deflate; server_no_context_takeover=1", 0),
        std::pair("permessage-deflate; client_max_window_bits; client_max_window_bits", 0),
        std::pair("", 0), std::pair("permessage-deflates", 0)})
    EXPECT_EQ(static_cast<int>(http::choose_websocket_deflate(offer)), bits) << offer;
  for (const std::uint8_t bits : {9, 12, 15})
    EXPECT_EQ(http::read_websocket_deflate_answer(http::websocket_deflate_answer(bits)), 15);
  // What was not offered, or what was demanded and is missing.
  for (const char* const answer :
       {"permessage-deflate", "x", "", "permessage-deflate; client_no_context_takeover",
        "permessage-deflate; server_no_context_takeover; client_max_window_bits=10",
        "permessage-deflate; server_no_context_takeover; server_no_context_takeover"})
    EXPECT_EQ(http::read_websocket_deflate_answer(answer), 0) << answer;
}

HEDDLE_TEST(websocket_deflate, "RFC 7692 7.2.3: the examples, and what cannot be unpacked") {
  if (!http::can_compress()) return;
  using namespace std::string_literals;
  for (const std::size_t piece : {1u, 3u, 1000u}) {
    EXPECT_EQ(unpacked("\xc1\x07\xf2\x48\xcd\xc9\xc9\x07\x00"s, piece), "Hello");
    EXPECT_EQ(unpacked("\x41\x03\xf2\x48\xcd\x80\x04\xc9\xc9\x07\x00"s, piece), "Hello");
    EXPECT_EQ(unpacked("\xc1\x0b\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00"s, piece), "Hello");
    EXPECT_EQ(unpacked("\xc1\x08\xf3\x48\xcd\xc9\xc9\x07\x00\x00"s, piece), "Hello");
    EXPECT_EQ(unpacked("\xc1\x0d\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00"s, piece),
              "Hello");
    EXPECT_EQ(unpacked("\xc1\x01\x00"s, piece), "");
    EXPECT_EQ(unpacked("\xc1\x04\xff\xff\xff\xff"s, piece), "failed 1007");
    EXPECT_EQ(unpacked("\xc1\x06\xf2\x48\xcd\xc9\xc9\x07"s, piece), "failed 1007");
    EXPECT_EQ(unpacked("\xc9\x00"s, piece), "failed 1002");
    EXPECT_EQ(unpacked("\x41\x03\xf2\x48\xcd\xc0\x04\xc9\xc9\x07\x00"s, piece), "failed 1002");
  }
  const auto bad_text = http::deflate_websocket("aaaaaaaaaaaaaaaaaaaaaaaaaaaa\xff", whole_window);
  EXPECT_TRUE(bad_text.has_value());
  EXPECT_EQ(unpacked(packed_frame(*bad_text), 1000), "failed 1007");
}

HEDDLE_TEST(websocket_deflate,
            "RFC 7692 8 and RFC 6455 10.4: no message unpacks beyond the limit") {
  if (!http::can_compress()) return;
  const auto bomb = http::deflate_websocket(std::string(10'000'000, 'x'), whole_window);
  EXPECT_TRUE(bomb.has_value());
  EXPECT_LT(bomb->size(), 20'000u);
  EXPECT_EQ(unpacked(packed_frame(*bomb), 4096, 1 << 20), "failed 1009");
  for (const std::size_t size : {999u, 1000u, 1001u, 4096u, 4097u, 70'000u})
    for (const std::uint8_t bits : {9, 15}) {
      const std::string plain(size, 'x');
      const auto small = http::deflate_websocket(plain, bits);
      EXPECT_TRUE(small.has_value());
      EXPECT_EQ(unpacked(packed_frame(*small), 100, size), plain);
      EXPECT_EQ(unpacked(packed_frame(*small), 100, size - 1), "failed 1009");
    }
  EXPECT_FALSE(http::deflate_websocket("abcdefgh", whole_window).has_value());
}

DRIVER_TEST(websocket_deflate, "RFC 7692 7: both sides agree, and messages come back whole") {
  if (!http::can_compress()) return;
  runtime rt(make());
  rt.run(with_server(packing_echo, {}, [](address at, http::server&) -> task<> {
    for (const char* const path : {"/", "/plain"})
      for (const bool asked : {true, false}) {
        http::websocket_options options;
        options.deflate = asked;
        http::websocket ws =
            co_await http::connect_websocket(co_await connect_to(at), "x", path, options);
        for (const std::size_t size : {0u, 255u, 256u, 5000u, 100'000u}) {
          const std::string data(size, 'd');
          co_await ws.send(data);
          const auto text = co_await ws.receive();
          EXPECT_TRUE(text && text->text && text->data == data) << path << asked << size;
          co_await ws.send_binary(data);
          const auto binary = co_await ws.receive();
          EXPECT_TRUE(binary && !binary->text && binary->data == data) << path << asked << size;
        }
        co_await ws.close();
        EXPECT_EQ(ws.ended().code, 1000);
      }
    for (const auto& [offer, path, agreed] :
         {std::tuple("permessage-deflate; client_max_window_bits", "/",
                     std::string(http::websocket_deflate_offer)),
          std::tuple("permessage-deflate; server_max_window_bits=10", "/",
                     std::string(http::websocket_deflate_offer) + "; server_max_window_bits=10"),
          std::tuple("permessage-deflate", "/plain", std::string()),
          std::tuple("x-other", "/", std::string())}) {
      stream conn = co_await connect_to(at);
      const std::string head = hello_with(offer, path);
      co_await conn.write(std::string_view(head));
      EXPECT_EQ(field_of(co_await read_until(conn, "\r\n\r\n"), "Sec-WebSocket-Extensions"),
                agreed);
    }
    // Compressed on the wire: the answer to 5,000 bytes is a frame of less than 126.
    stream conn = co_await connect_to(at);
    const std::string head = hello_with("permessage-deflate");
    co_await conn.write(std::string_view(head));
    static_cast<void>(co_await read_until(conn, "\r\n\r\n"));
    const std::string plain(5000, 'p');
    std::string payload = *http::deflate_websocket(plain, whole_window);
    const http::websocket_head frame = http::make_websocket_head(
        http::websocket_opcode::text, true, true, payload.size(), true, 0x04030201);
    http::mask_websocket(payload.data(), payload.size(), 0x04030201, 0);
    const std::string sent = std::string(frame.text()) + payload;
    co_await conn.write(std::string_view(sent));
    conn.shutdown_write();
    const std::string got = co_await read_all(conn);
    EXPECT_EQ(static_cast<unsigned char>(got.at(0)), 0xc1);
    EXPECT_LT(got.size(), 126u);
    EXPECT_EQ(unpacked(got, 1000, 5000), plain);
  }));
}
