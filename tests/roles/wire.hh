// SPDX-License-Identifier: MIT
// HTTP/1.1 as the tests read it: heads and bodies from a stream, by a few lines of their own that
// share nothing with the library's parsers.
#pragma once

#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "heddle/core/task.hh"
#include "heddle/io/stream.hh"

namespace heddle::test::roles {

struct wire_head {
  std::string first, second;                  // "HTTP/1.1" and "200"; "GET" and "/7"
  std::map<std::string, std::string> fields;  // names in lower case

  [[nodiscard]] int status() const { return std::atoi(second.c_str()); }
  [[nodiscard]] std::string_view field(const std::string& name) const {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string_view() : std::string_view(found->second);
  }
};

/// How a body on the wire is framed.
enum class wire_framing : std::uint8_t { none, length, chunked, until_end };

class wire_reader {
 public:
  explicit wire_reader(stream from) : from_(std::move(from)) {}

  /// The next head; nothing if the connection ends before it is whole. A cancelled call can be made
  /// again.
  task<std::optional<wire_head>> head() {
    for (;;) {
      const std::size_t end = left_.find("\r\n\r\n");
      if (end != left_.npos) {
        wire_head got = parse(left_.substr(0, end + 2));
        left_.erase(0, end + 4);
        co_return got;
      }
      const bool came = co_await more();
      if (!came) co_return std::nullopt;
    }
  }

  void begin_body(wire_framing how, std::size_t length) {
    how_ = how;
    body_left_ = how == wire_framing::length ? length : 0;
    ended_ = how == wire_framing::none || (how == wire_framing::length && length == 0);
    cut_ = false;
    trailer_.clear();
  }
  /// The next part of the body; "" at its end. cut() says whether the connection ended inside.
  task<std::string> part() {
    while (!ended_) {
      if (how_ == wire_framing::chunked && body_left_ == 0) {
        co_await next_chunk();
        continue;
      }
      if (left_.empty()) {
        const bool came = co_await more();
        if (came) continue;
        ended_ = true;
        cut_ = how_ != wire_framing::until_end;
        break;
      }
      std::size_t size = left_.size();
      if (how_ != wire_framing::until_end) size = std::min(size, body_left_);
      std::string got = left_.substr(0, size);
      left_.erase(0, size);
      if (how_ == wire_framing::until_end) co_return got;
      body_left_ -= size;
      if (how_ == wire_framing::length && body_left_ == 0) ended_ = true;
      if (how_ == wire_framing::chunked && body_left_ == 0) skip_line_ = true;
      co_return got;
    }
    co_return std::string();
  }
  [[nodiscard]] bool cut() const noexcept { return cut_; }
  /// The fields behind a chunked body.
  [[nodiscard]] const std::string& trailer() const noexcept { return trailer_; }
  /// Bytes that have come and that nobody has read; taken.
  [[nodiscard]] std::string take_left() { return std::exchange(left_, {}); }

 private:
  task<bool> more() {
    received in = co_await from_.receive();
    if (in.empty()) co_return false;
    left_ += in.text();
    co_return true;
  }
  /// A line without its end; nothing if the connection ended before.
  task<std::optional<std::string>> line() {
    for (;;) {
      const std::size_t end = left_.find("\r\n");
      if (end != left_.npos) {
        std::string got = left_.substr(0, end);
        left_.erase(0, end + 2);
        co_return got;
      }
      const bool came = co_await more();
      if (!came) co_return std::nullopt;
    }
  }
  task<> next_chunk() {
    if (std::exchange(skip_line_, false)) {
      const std::optional<std::string> end = co_await line();
      if (!end) co_return lose();
      EXPECT_EQ(*end, "") << "no line end behind a chunk";
    }
    const std::optional<std::string> size = co_await line();
    if (!size) co_return lose();
    char* end = nullptr;
    body_left_ = std::strtoull(size->c_str(), &end, 16);
    EXPECT_TRUE(end != size->c_str() && (*end == '\0' || *end == ';')) << "a chunk of " << *size;
    if (body_left_ != 0) co_return;
    for (;;) {
      const std::optional<std::string> field = co_await line();
      if (!field) co_return lose();
      if (field->empty()) break;
      trailer_ += *field + "\n";
    }
    ended_ = true;
  }
  void lose() {
    ended_ = true;
    cut_ = true;
  }

  static wire_head parse(const std::string& text) {
    wire_head got;
    std::size_t at = text.find("\r\n");
    const std::string line = text.substr(0, at);
    const std::size_t blank = line.find(' ');
    got.first = line.substr(0, blank);
    if (blank != line.npos)
      got.second = line.substr(blank + 1, line.find(' ', blank + 1) - blank - 1);
    for (at += 2; at < text.size();) {
      const std::size_t end = text.find("\r\n", at);
      const std::size_t colon = text.find(':', at);
      std::string name = text.substr(at, colon - at);
      for (char& c : name)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
      std::size_t value = colon + 1;
      while (value < end && text[value] == ' ') ++value;
      EXPECT_FALSE(got.fields.contains(name) && name == "content-length") << text;
      got.fields[name] = text.substr(value, end - value);
      at = end + 2;
    }
    return got;
  }

  stream from_;
  std::string left_;
  wire_framing how_ = wire_framing::none;
  std::size_t body_left_ = 0;
  bool ended_ = true, cut_ = false, skip_line_ = false;
  std::string trailer_;
};

/// The framing of a body that follows this head; `without`: it has none in any case.
inline wire_framing framing_of(const wire_head& h, bool without, bool answer) {
  if (without) return wire_framing::none;
  if (h.field("transfer-encoding") == "chunked") {
    EXPECT_EQ(h.field("content-length"), "") << "two framings";
    return wire_framing::chunked;
  }
  if (h.fields.contains("content-length")) return wire_framing::length;
  return answer ? wire_framing::until_end : wire_framing::none;
}

}  // namespace heddle::test::roles
