// SPDX-License-Identifier: MIT
// The request parser against the tables in cases/requests_*.txt: each case whole, cut at every
// byte, byte by byte, and with the buffer moved between feeds, all giving the same answer.
#include "heddle/http/parser.hh"

#include <cstring>
#include <memory>
#include <sstream>

#include "case_file.hh"
#include "support/test.hh"

namespace {

using namespace heddle::http;
using heddle::test::case_line;
using heddle::test::file_case;
using heddle::test::unescape;

constexpr const char* files[] = {"requests_accepted.txt", "requests_refused_line.txt",
                                 "requests_refused_fields.txt", "requests_refused_framing.txt",
                                 "requests_limits.txt"};

struct request_case {
  std::string bytes;
  limits bounds;
  std::vector<case_line> expected;
};

void set_limit(limits& bounds, const std::string& text) {
  std::istringstream in(text);
  std::string name;
  std::uint32_t value;
  in >> name >> value;
  if (name == "request_line_bytes_max")
    bounds.request_line_bytes_max = value;
  else if (name == "header_bytes_max")
    bounds.header_bytes_max = value;
  else if (name == "header_count_max")
    bounds.header_count_max = value;
  else if (name == "method_bytes_max")
    bounds.method_bytes_max = value;
  else if (name == "empty_lines_max")
    bounds.empty_lines_max = value;
  else if (name == "body_bytes_max")
    bounds.body_bytes_max = value;
  else
    throw std::runtime_error("unknown limit " + name);
}

request_case read_request_case(const file_case& from) {
  request_case result;
  for (const case_line& line : from.lines) {
    if (line.word == "|") {
      result.bytes += unescape(line.rest) + "\r\n";
    } else if (line.word == ">") {
      result.bytes += unescape(line.rest);
    } else if (line.word == "repeat") {
      std::size_t space = line.rest.find(' ');
      std::string bytes = unescape(line.rest.substr(space + 1));
      for (int i = std::stoi(line.rest); i > 0; --i) result.bytes += bytes;
    } else if (line.word == "limit") {
      set_limit(result.bounds, line.rest);
    } else if (line.word != "why") {
      result.expected.push_back(line);
    }
  }
  return result;
}

std::string yes(bool value) { return value ? "yes" : "no"; }

std::string answer_for(const request_parser& parser, std::string_view key, std::size_t size) {
  const request_head& head = parser.head();
  if (key == "method") return std::string(head.method_text());
  if (key == "target") return std::string(head.target());
  if (key == "path") return std::string(head.path());
  if (key == "query") return std::string(head.query());
  if (key == "version") return std::to_string(head.minor_version());
  if (key == "headers") return std::to_string(head.header_count());
  if (key == "keep-alive") return yes(head.keep_alive());
  if (key == "continue") return yes(head.expects_continue());
  if (key == "upgrade") return yes(head.upgrade());
  if (key == "authority") return std::string(head.authority());
  if (key == "rest") return std::to_string(size - parser.consumed());
  if (key == "form") {
    constexpr const char* forms[] = {"origin", "absolute", "authority", "asterisk"};
    return forms[static_cast<int>(head.form())];
  }
  if (key == "body") {
    if (head.body() == framing::length) return std::to_string(head.content_length());
    return head.body() == framing::none ? "none" : "chunked";
  }
  return "unknown key";
}

void compare(const request_case& wanted, parse_state state, const request_parser& parser) {
  for (const case_line& line : wanted.expected) {
    if (line.word == "more") {
      EXPECT_EQ(state, parse_state::need_more) << name_of(parser.error());
    } else if (line.word == "ok") {
      ASSERT_EQ(state, parse_state::done) << name_of(parser.error()) << " at " << parser.error_at();
      std::istringstream in(line.rest);
      for (std::string pair; in >> pair;) {
        std::size_t equals = pair.find('=');
        std::string key = pair.substr(0, equals);
        EXPECT_EQ(answer_for(parser, key, wanted.bytes.size()), unescape(pair.substr(equals + 1)))
            << key;
      }
    } else if (line.word == "field") {
      std::size_t equals = line.rest.find('=');
      std::string name = line.rest.substr(0, equals);
      EXPECT_TRUE(parser.head().has(name)) << name;
      EXPECT_EQ(parser.head().value(name), unescape(line.rest.substr(equals + 1))) << name;
    } else if (line.word == "fails") {
      ASSERT_EQ(state, parse_state::failed);
      std::istringstream in(line.rest);
      std::string what;
      int status = 0;
      std::size_t at = 0;
      in >> what >> status;
      EXPECT_EQ(name_of(parser.error()), what) << "at " << parser.error_at();
      EXPECT_EQ(status_of(parser.error()), status);
      if (in >> at) EXPECT_EQ(parser.error_at(), at);
    } else {
      FAIL() << "unknown line: " << line.word;
    }
  }
}

// Everything that a head says, for comparing two of them.
std::string summary(parse_state state, const request_parser& parser) {
  std::ostringstream out;
  out << static_cast<int>(state) << ' ' << name_of(parser.error()) << '@' << parser.error_at();
  if (state != parse_state::done) return out.str();
  for (const char* key : {"method", "target", "path", "query", "version", "headers", "keep-alive",
                          "continue", "upgrade", "authority", "form", "body"}) {
    out << '\n' << key << '=' << answer_for(parser, key, 0);
  }
  out << '\n' << parser.consumed();
  for (std::size_t i = 0; i < parser.head().header_count(); ++i) {
    header field = parser.head().header_at(i);
    out << '\n' << static_cast<int>(field.id) << ' ' << field.name << ": " << field.value;
  }
  return out.str();
}

// A copy of its own size, so that a sanitizer sees a read past its end; it also moves the bytes.
struct exact_buffer {
  explicit exact_buffer(std::string_view text)
      : bytes(std::make_unique<char[]>(text.size())), size(text.size()) {
    if (size != 0) std::memcpy(bytes.get(), text.data(), size);
  }
  std::string_view view() const { return {bytes.get(), size}; }
  std::unique_ptr<char[]> bytes;
  std::size_t size;
};

template <class Body>
std::size_t for_each_case(Body body) {
  std::size_t count = 0;
  for (const char* file : files) {
    for (const file_case& entry : heddle::test::read_cases(file)) {
      SCOPED_TRACE(entry.place + " " + entry.name);
      request_case wanted = read_request_case(entry);
      EXPECT_FALSE(wanted.expected.empty());
      body(wanted);
      ++count;
    }
  }
  return count;
}

HEDDLE_TEST(parser, "answers every case in the tables as written there") {
  std::size_t count = for_each_case([](const request_case& wanted) {
    exact_buffer buffer(wanted.bytes);
    request_parser parser(wanted.bounds);
    parse_state state = parser.feed(buffer.view());
    compare(wanted, state, parser);
  });
  EXPECT_GE(count, 240u);
}

HEDDLE_TEST(parser, "gives the same answer wherever a request is cut in two") {
  for_each_case([](const request_case& wanted) {
    std::string_view bytes = wanted.bytes;
    request_parser whole(wanted.bounds);
    std::string expected = summary(whole.feed(bytes), whole);
    // Long cases are cut at some places; their short twins have the others.
    std::size_t step = bytes.size() > 2000 ? 97 : 1;
    for (std::size_t cut = 0; cut <= bytes.size(); cut += step) {
      exact_buffer first(bytes.substr(0, cut));
      exact_buffer both(bytes);
      request_parser parser(wanted.bounds);
      parse_state state = parser.feed(first.view());
      if (state == parse_state::need_more) state = parser.feed(both.view());
      parser.head().rebase(bytes.data());
      ASSERT_EQ(summary(state, parser), expected) << "cut at " << cut;
    }
  });
}

HEDDLE_TEST(parser, "gives the same answer byte by byte") {
  for_each_case([](const request_case& wanted) {
    std::string_view bytes = wanted.bytes;
    request_parser whole(wanted.bounds);
    std::string expected = summary(whole.feed(bytes), whole);
    request_parser parser(wanted.bounds);
    parse_state state = parse_state::need_more;
    for (std::size_t length = 0; length <= bytes.size(); ++length) {
      state = parser.feed(bytes.substr(0, length));
      if (state != parse_state::need_more) break;
    }
    EXPECT_EQ(summary(state, parser), expected);
  });
}

HEDDLE_TEST(parser, "keeps its answer until it is reset, and starts afresh then") {
  limits bounds;
  request_parser parser(bounds);
  std::string_view bytes =
      "GET /a?q HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.1\r\n"
      "Host: b\r\n\r\n";
  EXPECT_TRUE(parser.idle());
  ASSERT_EQ(parser.feed(bytes), parse_state::done);
  ASSERT_EQ(parser.feed(bytes), parse_state::done);
  EXPECT_FALSE(parser.idle());
  std::string_view next = bytes.substr(parser.consumed());
  parser.reset();
  EXPECT_TRUE(parser.idle());
  ASSERT_EQ(parser.feed(next), parse_state::done);
  EXPECT_EQ(parser.head().path(), "/");
  EXPECT_FALSE(parser.head().has_query());
  EXPECT_FALSE(parser.head().has(header_id::connection));
  EXPECT_EQ(parser.head().value(header_id::host), "b");
  parser.reset();
  ASSERT_EQ(parser.feed("\x01"), parse_state::failed);
  ASSERT_EQ(parser.feed("\x01 more"), parse_state::failed);
}

HEDDLE_TEST(parser, "judges every host alike, whichever was valid before it") {
  const std::string longest(63, 'h'), longer(64, 'h');
  const std::string_view hosts[] = {"a.example", "a.example:80", "b.example", "a exampl", "",
                                    longest,     longer,         "a.example", "a/exampl"};
  limits bounds;
  known_authority known;
  request_parser with(bounds, &known);
  for (const std::string_view first : hosts) {
    for (const std::string_view second : hosts) {
      for (const std::string_view host : {first, second, second}) {
        const std::string bytes = "GET / HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n";
        request_parser without(bounds);
        const std::string expected = summary(without.feed(bytes), without);
        with.reset();
        EXPECT_EQ(summary(with.feed(bytes), with), expected) << host << " after " << first;
      }
    }
  }
}

HEDDLE_TEST(parser, "gives every other byte of a head the right class") {
  // One byte replaced at a time: wide and narrow paths have to agree on all 256 values.
  const std::string good =
      "GET /0123456789?abc HTTP/1.1\r\nHost: abc\r\nX-Name: value value v\r\n\r\n";
  limits bounds;
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string bytes = good;
      bytes[at] = static_cast<char>(byte);
      request_parser whole(bounds);
      std::string expected = summary(whole.feed(bytes), whole);
      request_parser parser(bounds);
      parse_state state = parse_state::need_more;
      for (std::size_t n = 1; n <= bytes.size() && state == parse_state::need_more; ++n) {
        state = parser.feed(std::string_view(bytes).substr(0, n));
      }
      ASSERT_EQ(summary(state, parser), expected) << "byte " << byte << " at " << at;
    }
  }
}

HEDDLE_TEST(parser, "describes every problem, each with a status of its kind") {
  for (std::uint8_t i = 0; i < problem_count; ++i) {
    auto what = static_cast<problem>(i);
    EXPECT_FALSE(name_of(what).empty());
    EXPECT_FALSE(describe(what).empty());
    int status = status_of(what);
    EXPECT_TRUE(status == 200 ? what == problem::none : status >= 400 && status < 600);
  }
}

}  // namespace
