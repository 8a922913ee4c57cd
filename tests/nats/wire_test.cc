// SPDX-License-Identifier: MIT
// The text protocol: what is read, however it is split, what is refused, and what is written.
#include "nats/wire.hh"

#include "heddle/base/error.hh"
#include "support/test.hh"

namespace heddle::test {
namespace {

using nats::detail::wire_item;
using nats::detail::wire_limits;
using nats::detail::wire_reader;

std::string text_of(const wire_item& item) {
  std::string made = std::to_string(static_cast<int>(item.what)) + ' ' + item.text;
  if (item.what != wire_item::kind::message) return made;
  const nats::message& m = item.content;
  made = "message " + m.subject + '|' + m.reply + '|' + std::to_string(item.subscription) + '|' +
         std::to_string(m.status) + m.status_text + '|';
  for (const nats::field& each : m.fields) made += each.name + '=' + each.value + ';';
  return made + '|' + m.body;
}

std::vector<std::string> all_of(wire_reader& reader) {
  std::vector<std::string> got;
  while (auto item = reader.next()) got.push_back(text_of(*item));
  return got;
}

std::string refusal_of(std::string_view text, wire_limits bounds = {}) {
  wire_reader reader(bounds);
  reader.feed(text);
  try {
    while (reader.next()) {
    }
  } catch (const failure& e) {
    EXPECT_EQ(e.code(), std::errc::bad_message);
    return e.what();
  }
  return "";
}

constexpr std::string_view conversation =
    "INFO {\"max_payload\":100}\r\n"
    "PING\r\n"
    "pong \r\n"
    "+OK\r\n"
    "-ERR 'Slow Consumer'\r\n"
    "MSG a.b 7 5\r\nhe\r\no\r\n"
    "MSG a.b\t12  answer.here 0\r\n\r\n"
    "HMSG a 1 25 29\r\nNATS/1.0\r\nName:  x y \r\n\r\nbody\r\n"
    "HMSG a 1 r 16 16\r\nNATS/1.0 503\r\n\r\n\r\n"
    "HMSG a 1 27 27\r\nNATS/1.0 408 It is over\r\n\r\n\r\n";

HEDDLE_TEST(nats_wire, "each kind of item is read, however the bytes are split") {
  wire_reader whole;
  whole.feed(conversation);
  const std::vector<std::string> wanted = all_of(whole);
  EXPECT_TRUE(whole.empty());
  const std::vector<std::string> items = {"0 {\"max_payload\":100}",
                                          "2 ",
                                          "3 ",
                                          "4 ",
                                          "5 'Slow Consumer'",
                                          "message a.b||7|0||he\r\no",
                                          "message a.b|answer.here|12|0||",
                                          "message a||1|0|Name=x y;|body",
                                          "message a|r|1|503||",
                                          "message a||1|408It is over||"};
  EXPECT_EQ(wanted, items);
  for (std::size_t step = 1; step != 40; ++step) {
    wire_reader reader;
    std::vector<std::string> got;
    for (std::size_t at = 0; at < conversation.size(); at += step) {
      reader.feed(conversation.substr(at, step));
      for (std::string& each : all_of(reader)) got.push_back(std::move(each));
    }
    EXPECT_EQ(got, wanted) << step;
  }
}

HEDDLE_TEST(nats_wire, "a text that is no NATS is refused, with the reason") {
  const std::pair<const char*, const char*> bad[] = {
      {"HELLO\r\n", "no known word"},
      {"\r\n", "no known word"},
      {"MSG a 1\r\n", "too few words"},
      {"MSG a 1 r s 5\r\n", "too few words"},
      {"MSG a 1 r s t 5\r\n", "too many words"},
      {"MSG a x 5\r\n", "number of a subscription"},
      {"MSG a 1 -5\r\n", "number of bytes"},
      {"MSG a 1 99999999999999999999\r\n", "number of bytes"},
      {"MSG a 1 2\r\nabc\r\n", "longer than its line says"},
      {"HMSG a 1 5 4\r\n", "more bytes of fields than bytes"},
      {"HMSG a 1 12 12\r\nNATS/2.0\r\n\r\n\r\n", "do not begin"},
      {"HMSG a 1 10 10\r\nNATS/1.0\r\n\r\n", "do not begin"},
      {"HMSG a 1 16 16\r\nNATS/1.0\r\n:x\r\n\r\n\r\n", "no name"},
      {"HMSG a 1 17 17\r\nNATS/1.0 9999\r\n\r\n\r\n", "between 1 and 999"},
  };
  for (const auto& [text, why] : bad)
    EXPECT_NE(refusal_of(text).find(why), std::string::npos) << text << refusal_of(text);
}

HEDDLE_TEST(nats_wire, "lines and messages beyond their limits are refused before they have come") {
  const wire_limits small{.control_line_max = 16, .info_max = 64, .payload_max = 8};
  EXPECT_EQ(refusal_of("MSG a 1 8\r\n", small), "");
  EXPECT_NE(refusal_of("MSG a 1 9\r\n", small).find("payload_max"), std::string::npos);
  EXPECT_NE(refusal_of("MSG aaaaaaaaaaaaaaaaaaaaaaaaa", small).find("too long"), std::string::npos);
  EXPECT_EQ(refusal_of("INFO {aaaaaaaaaaaaaaaaaaaaaaaaaaaa}", small), "");
  EXPECT_NE(refusal_of("INFO " + std::string(80, 'x'), small).find("too long"), std::string::npos);
}

HEDDLE_TEST(nats_wire, "what is written is read again by the rule of its line") {
  std::string out;
  nats::detail::append_publish(out, "a.b", "", {}, "xy");
  nats::detail::append_publish(out, "a", "r", {{"N", "v"}}, "xy");
  nats::detail::append_subscribe(out, "a.*", "g", 3);
  nats::detail::append_subscribe(out, ">", "", 4);
  nats::detail::append_unsubscribe(out, 3);
  EXPECT_EQ(out,
            "PUB a.b 2\r\nxy\r\nHPUB a r 18 20\r\nNATS/1.0\r\nN: v\r\n\r\nxy\r\n"
            "SUB a.* g 3\r\nSUB > 4\r\nUNSUB 3\r\n");
  EXPECT_EQ(nats::detail::payload_size({{"N", "v"}}, "xy"), 20u);
}

HEDDLE_TEST(nats_wire, "subjects, patterns and fields are checked") {
  for (const char* good : {"a", "a.b", "$JS.ACK.x", "a-b.c_d", "\xc3\xa9"})
    EXPECT_TRUE(nats::is_subject(good) && nats::is_subject_pattern(good)) << good;
  for (const char* bad : {"", ".", "a.", ".a", "a..b", "a b", "a\tb", "a\r\nPUB x 0", "a*b", ">.a"})
    EXPECT_FALSE(nats::is_subject(bad) || nats::is_subject_pattern(bad)) << bad;
  for (const char* pattern : {"*", ">", "a.*", "*.b.>"})
    EXPECT_TRUE(!nats::is_subject(pattern) && nats::is_subject_pattern(pattern)) << pattern;
  EXPECT_NO_THROW(nats::detail::check_fields({{"Name", "a: b"}, {"B", ""}}));
  EXPECT_THROW(nats::detail::check_fields({{"", "a"}}), failure);
  EXPECT_THROW(nats::detail::check_fields({{"a b", "a"}}), failure);
  EXPECT_THROW(nats::detail::check_fields({{"a:", "a"}}), failure);
  EXPECT_THROW(nats::detail::check_fields({{"a", "b\r\nc"}}), failure);
}

}  // namespace
}  // namespace heddle::test
