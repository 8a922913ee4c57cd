// SPDX-License-Identifier: MIT
// Pieces are shared and counted; chains gather, slice and drop them.
#include "heddle/io/chain.hh"

#include <sys/uio.h>

#include <random>

#include "heddle/io/address.hh"
#include "support/test.hh"

using namespace heddle;

HEDDLE_TEST(chain, "short copies are gathered into one piece") {
  chain c;
  for (int i = 0; i < 100; ++i) c.append_copy("abc");
  EXPECT_EQ(c.piece_count(), 1u);
  EXPECT_EQ(c.size(), 300u);
  c.append_copy(std::string(5000, 'x'));
  EXPECT_EQ(c.piece_count(), 2u);
}

HEDDLE_TEST(chain, "a string is moved in and stays where it was") {
  std::string text(1000, 'a');
  const void* at = text.data();
  chain c;
  c.append(std::move(text));
  EXPECT_EQ(static_cast<const void*>(c.piece_at(0).bytes().data()), at);
}

HEDDLE_TEST(chain, "a piece outlives every chain that shares it") {
  piece rest;
  {
    piece whole = piece::copy_of("0123456789");
    chain a, b;
    a.append(whole).append(whole.slice(2, 3));
    b.append(whole);
    a.remove_prefix(12);
    EXPECT_EQ(a.to_string(), "4");
    EXPECT_EQ(b.to_string(), "0123456789");
    rest = whole.slice(8);
  }
  EXPECT_EQ(rest.bytes().text(), "89");
  EXPECT_EQ(rest.slice(1, 100).bytes().text(), "9");
  EXPECT_TRUE(rest.slice(5).empty());
}

namespace {

/// Counts how many of it there are, but for those that were moved from.
class counted_text {
 public:
  counted_text(int& count, std::string text) : count_(&count), text_(std::move(text)) { ++count; }
  counted_text(counted_text&& other) noexcept
      : count_(std::exchange(other.count_, nullptr)), text_(std::move(other.text_)) {}
  ~counted_text() {
    if (count_ != nullptr) --*count_;
  }
  [[nodiscard]] byte_view bytes() const noexcept { return byte_view(text_); }

 private:
  int* count_;
  std::string text_;
};

}  // namespace

HEDDLE_TEST(chain, "what holds bytes ends when nothing refers to them any more") {
  int alive = 0;
  {
    chain c;
    {
      const piece short_one = piece::held_by(counted_text(alive, "abcdef"));  // moves its bytes
      EXPECT_EQ(short_one.bytes().text(), "abcdef");
      c.append(short_one.slice(2, 3));
    }
    EXPECT_EQ(alive, 1);
    EXPECT_EQ(c.to_string(), "cde");
    c.remove_prefix(3);
    EXPECT_EQ(alive, 0);
  }
}

HEDDLE_TEST(chain, "a shared piece is not written into") {
  chain c;
  c.append_copy("one");
  const piece shared = c.piece_at(0);
  c.append_copy("two");
  EXPECT_EQ(shared.bytes().text(), "one");
  EXPECT_EQ(c.to_string(), "onetwo");
  EXPECT_EQ(c.piece_count(), 2u);
}

HEDDLE_TEST(chain, "every way to cut it agrees with a string") {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    chain c;
    std::string model;
    for (int step = 0; step < 60; ++step) {
      const std::size_t n = random() % 400;
      const std::string text(n, static_cast<char>('a' + step % 26));
      switch (random() % 5) {
        case 0:
          c.append_copy(text);
          model += text;
          break;
        case 1:
          c.append(std::string(text));
          model += text;
          break;
        case 2:
          c.append(piece::copy_of(text).slice(n / 3));
          model += text.substr(n / 3);
          break;
        case 3: {
          chain other;
          other.append_copy(text).append_copy("end");
          c.append(std::move(other));
          model += text + "end";
          break;
        }
        default: {
          const std::size_t cut = random() % 600;
          c.remove_prefix(cut);
          model.erase(0, std::min(cut, model.size()));
        }
      }
      ASSERT_EQ(c.size(), model.size());
    }
    ASSERT_EQ(c.to_string(), model) << "round " << round;
    iovec parts[8];
    const std::size_t count = c.fill(parts, 8);
    std::string first;
    for (std::size_t i = 0; i < count; ++i)
      first.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
    ASSERT_EQ(first, model.substr(0, first.size()));
  }
}

HEDDLE_TEST(address, "version 4 in version 6 form is version 4, and nothing else changes") {
  EXPECT_EQ(address::parse("[::ffff:192.0.2.1]:80")->unmapped(), *address::parse("192.0.2.1:80"));
  for (const char* text : {"192.0.2.1:80", "[::192.0.2.1]:80", "[2001:db8::1]:80"})
    EXPECT_EQ(address::parse(text)->unmapped(), *address::parse(text)) << text;
  EXPECT_EQ(address().unmapped(), address());
}

HEDDLE_TEST(address, "text and address agree") {
  for (const char* text : {"1.2.3.4:80", "0.0.0.0:0", "[::1]:443", "[2001:db8::1]:65535"})
    EXPECT_EQ(address::parse(text)->to_string(), text);
  EXPECT_EQ(address::parse("1.2.3.4", 7)->to_string(), "1.2.3.4:7");
  EXPECT_EQ(address::parse("::1", 7)->to_string(), "[::1]:7");
  EXPECT_EQ(address::parse("[fe80::1%2]:9")->to_string(), "[fe80::1%2]:9");
  for (const char* text : {"", "1.2.3", "1.2.3.4:", "1.2.3.4:65536", "1.2.3.4:x", "[1.2.3.4]:5",
                           "[::1", "[::1]x", ":80", "1.2.3.4.5", "[]:1", "::1%x"})
    EXPECT_FALSE(address::parse(text).has_value()) << text;
  EXPECT_EQ(address::loopback(80), *address::parse("127.0.0.1:80"));
  EXPECT_NE(address::loopback(80), address::loopback(81));
  EXPECT_EQ(address::loopback(80).with_port(81), address::loopback(81));
  EXPECT_FALSE(address());
}
