// SPDX-License-Identifier: MIT
// HPACK: the examples of RFC 7541 appendix C, what a peer may not send, and both ways together.
#include "heddle/http/detail/hpack.hh"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "http/hpack_huffman.hh"
#include "support/test.hh"

using namespace heddle::http;

namespace {

std::string bytes_of(std::string_view hex) {
  std::string out;
  int half = -1;
  for (const char c : hex) {
    if (c == ' ' || c == '\n') continue;
    const int digit = c <= '9' ? c - '0' : c - 'a' + 10;
    if (half < 0) {
      half = digit;
    } else {
      out.push_back(static_cast<char>(half * 16 + digit));
      half = -1;
    }
  }
  return out;
}

/// "name: value" for each field, one a line; "<failed>" behind what a broken block gave.
std::string decode(hpack_decoder& decoder, std::string_view block) {
  std::string all;
  decoder.begin();
  for (hpack_pair f;;) {
    const hpack_state state = decoder.next(block, f);
    if (state == hpack_state::end) return all;
    if (state == hpack_state::failed) return all + "<failed>";
    all.append(f.name).append(": ").append(f.value).append("\n");
  }
}

}  // namespace

HEDDLE_TEST(hpack, "C.1 numbers with a prefix") {
  for (const auto& [number, bits, hex] :
       {std::tuple(10u, 5u, "0a"), std::tuple(1337u, 5u, "1f9a0a"), std::tuple(42u, 8u, "2a")}) {
    std::string out;
    hpack_put_number(out, 0, bits, number);
    EXPECT_EQ(out, bytes_of(hex));
    std::string_view rest = out;
    std::uint64_t back = 0;
    ASSERT_TRUE(hpack_take_number(rest, bits, back));
    EXPECT_EQ(back, number);
    EXPECT_TRUE(rest.empty());
  }
  std::uint64_t number = 0;
  for (const std::string bad : {"", "1f", "1f9a", "1fffffffffff0f", "1f808080808001"}) {
    const std::string bytes = bytes_of(bad);
    std::string_view rest = bytes;
    EXPECT_FALSE(hpack_take_number(rest, 5, number)) << bad;
  }
}

HEDDLE_TEST(hpack, "C.3 requests without Huffman code share one table") {
  hpack_decoder d;
  EXPECT_EQ(decode(d, bytes_of("828684410f7777772e6578616d706c652e636f6d")),
            ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\n");
  EXPECT_EQ(d.table().bytes(), 57u);
  EXPECT_EQ(decode(d, bytes_of("828684be58086e6f2d6361636865")),
            ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\n"
            "cache-control: no-cache\n");
  EXPECT_EQ(d.table().bytes(), 110u);
  EXPECT_EQ(decode(d, bytes_of("828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565")),
            ":method: GET\n:scheme: https\n:path: /index.html\n:authority: www.example.com\n"
            "custom-key: custom-value\n");
  EXPECT_EQ(d.table().bytes(), 164u);
  EXPECT_EQ(d.table().count(), 3u);
}

HEDDLE_TEST(hpack, "C.4 the same with Huffman code") {
  hpack_decoder d;
  EXPECT_EQ(decode(d, bytes_of("828684418cf1e3c2e5f23a6ba0ab90f4ff")),
            ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\n");
  EXPECT_EQ(decode(d, bytes_of("828684be5886a8eb10649cbf")),
            ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\n"
            "cache-control: no-cache\n");
  EXPECT_EQ(decode(d, bytes_of("828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf")),
            ":method: GET\n:scheme: https\n:path: /index.html\n:authority: www.example.com\n"
            "custom-key: custom-value\n");
}

HEDDLE_TEST(hpack, "C.6 answers drive the oldest fields out of a table of 256 bytes") {
  hpack_decoder d(256);
  EXPECT_EQ(decode(d, bytes_of("488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a6"
                               "2d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3")),
            ":status: 302\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:21 GMT\n"
            "location: https:/"
            "/www.example.com\n");
  EXPECT_EQ(d.table().bytes(), 222u);
  EXPECT_EQ(decode(d, bytes_of("4883640effc1c0bf")),
            ":status: 307\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:21 GMT\n"
            "location: https:/"
            "/www.example.com\n");
  EXPECT_EQ(decode(d, bytes_of("88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab"
                               "77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f"
                               "9587316065c003ed4ee5b1063d5007")),
            ":status: 200\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:22 GMT\n"
            "location: https:/"
            "/www.example.com\ncontent-encoding: gzip\nset-cookie: "
            "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1\n");
  EXPECT_EQ(d.table().bytes(), 215u);
}

HEDDLE_TEST(hpack, "what RFC 7541 calls an error is one") {
  for (const char* const bad : {
           "80",                  // 6.1: index 0
           "be",                  // an index behind the tables
           "3fe21f",              // 6.3: a table larger than the setting
           "8220",                // 4.2: a change of size behind a field
           "0a",                  // ends inside a literal
           "400161",              // ends before the value
           "000185ffffffffff00",  // 5.2: EOS in a text
           "0081ff00",            // padding of eight bits
           "00811800",            // padding that is not ones
       }) {
    hpack_decoder d;
    EXPECT_TRUE(decode(d, bytes_of(bad)).ends_with("<failed>")) << bad;
  }
  hpack_decoder d;
  EXPECT_EQ(decode(d, bytes_of("20 3fe11f 82")), ":method: GET\n");  // two changes at the beginning
}

HEDDLE_TEST(hpack, "a text has a limit, also in Huffman code") {
  hpack_decoder d(4096, 8);
  std::string plain("\x00\x01n\x09", 4), coded("\x00\x01n", 3);
  plain += "123456789";
  hpack_put_number(coded, 0x80, 7, huffman_size("123456789"));
  huffman_encode("123456789", coded);
  EXPECT_EQ(decode(d, plain), "<failed>");
  EXPECT_EQ(decode(d, coded), "<failed>");
}

HEDDLE_TEST(hpack, "every byte survives the Huffman code") {
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  std::string code, back;
  huffman_encode(all, code);
  EXPECT_EQ(code.size(), huffman_size(all));
  ASSERT_TRUE(huffman_decode(code, back, 256));
  EXPECT_EQ(back, all);
  back.clear();
  EXPECT_FALSE(huffman_decode(code, back, 255));
}

HEDDLE_TEST(hpack, "what the encoder writes is read back, and known fields take one byte") {
  std::string out;
  hpack_encode(out, ":status", "200");
  EXPECT_EQ(out.size(), 1u);
  hpack_encode(out, "content-type", "text/plain; charset=utf-8");
  hpack_encode(out, "x-own", "");
  hpack_encode_secret(out, "set-cookie", "a=b");
  hpack_decoder d;
  EXPECT_EQ(decode(d, out),
            ":status: 200\ncontent-type: text/plain; charset=utf-8\nx-own: \nset-cookie: a=b\n");
  EXPECT_EQ(d.table().count(), 0u);
}

HEDDLE_TEST(hpack, "a table that changes for long stays within its size") {
  hpack_table t(200);
  std::string value;
  for (int i = 0; i < 10'000; ++i) {
    value.assign(static_cast<std::size_t>(i % 90), 'v');
    t.add("name-" + std::to_string(i), value);
    ASSERT_LE(t.bytes(), 200u);
    if (t.count() == 0) continue;
    const auto newest = t.at(hpack_static_count + 1);
    ASSERT_TRUE(newest);
    EXPECT_EQ(newest->name, "name-" + std::to_string(i));
    EXPECT_EQ(newest->value, value);
    ASSERT_TRUE(t.at(hpack_static_count + t.count()));
    ASSERT_FALSE(t.at(hpack_static_count + t.count() + 1));
  }
  t.add("large", std::string(300, 'x'));
  EXPECT_EQ(t.count(), 0u);
}

HEDDLE_TEST(hpack, "each field of the static table is found by its name and value") {
  for (std::size_t i = 1; i <= hpack_static_count; ++i) {
    const hpack_pair& f = hpack_static(i);
    const hpack_static_place found = hpack_find_static(f.name, f.value);
    EXPECT_TRUE(found.value) << f.name;
    EXPECT_EQ(found.index, i);
    EXPECT_FALSE(hpack_find_static(f.name, "no such value").value);
    EXPECT_EQ(hpack_static(hpack_find_static(f.name, "no such value").index).name, f.name);
  }
  EXPECT_EQ(hpack_find_static("x-unknown", "").index, 0);
  EXPECT_EQ(hpack_find_static("", "").index, 0);
}
