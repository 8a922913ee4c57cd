// SPDX-License-Identifier: MIT
// Reading XDR: values that arrive in any pieces, and data that must be refused before memory is
// allocated for it.
#include "heddle/xdr/reader.hh"

#include "heddle/xdr/generator.hh"
#include "heddle/xdr/writer.hh"
#include "support/test.hh"
#include "xdr/types.hh"

namespace heddle::test {
namespace {

chain in_pieces(std::string_view bytes, std::size_t piece_bytes) {
  chain all;
  for (std::size_t at = 0; at < bytes.size(); at += piece_bytes)
    all.append(piece::copy_of(bytes.substr(at, piece_bytes)));
  return all;
}
chain words(std::initializer_list<std::uint32_t> numbers) {
  xdr::writer w;
  for (const std::uint32_t n : numbers) w.write(n);
  return w.take();
}
template <class T>
std::string error_of(const chain& c, xdr::reader_limits limits = {}) {
  const auto read = xdr::decode<T>(c, limits);
  return read ? "" : read.error();
}

HEDDLE_TEST(xdr, "a number has the bytes of RFC 4506, the highest first") {
  EXPECT_EQ(xdr::encode(std::int32_t{-2}).to_string(), std::string("\xff\xff\xff\xfe"));
  EXPECT_EQ(xdr::encode(std::uint64_t{0x0102030405060708}).to_string(),
            std::string("\1\2\3\4\5\6\7\10"));
  EXPECT_EQ(xdr::encode(1.5).to_string(), std::string("\x3f\xf8\0\0\0\0\0\0", 8));
  EXPECT_EQ(xdr::encode(xdr::text<>("abcde")).to_string(), std::string("\0\0\0\5abcde\0\0\0", 12));
}

HEDDLE_TEST(xdr, "a value that was written is read again, whatever pieces it arrives in") {
  for (std::uint64_t seed = 0; seed != 300; ++seed) {
    const auto value = xdr::generate<node>(seed);
    const std::string bytes = xdr::encode(value).to_string();
    for (const std::size_t size : {std::size_t{1}, std::size_t{3}, std::size_t{7}, bytes.size()}) {
      auto read = xdr::decode<node>(in_pieces(bytes, size));
      ASSERT_TRUE(read.has_value()) << read.error() << " seed " << seed;
      EXPECT_EQ(xdr::encode(*read).to_string(), bytes) << "seed " << seed;
    }
  }
}

HEDDLE_TEST(xdr, "data that was cut or changed gives an error or another value, never more") {
  for (std::uint64_t seed = 0; seed != 12; ++seed) {
    const std::string bytes = xdr::encode(xdr::generate<node>(seed)).to_string();
    for (std::size_t cut = 0; cut < bytes.size(); cut += 4)
      EXPECT_NE(error_of<node>(in_pieces(std::string_view(bytes).substr(0, cut), 64)), "");
    EXPECT_NE(error_of<node>(in_pieces(bytes + std::string(4, '\0'), 64)), "");
    for (std::size_t at = 0; at < bytes.size(); at += 5) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ (1 << (at % 8)));
      const auto read = xdr::decode<node>(in_pieces(changed, 64));
      if (read) EXPECT_EQ(xdr::encode(*read).to_string(), changed);
    }
  }
}

HEDDLE_TEST(xdr,
            "a length beyond its bound or the data is refused, and the error names the field") {
  EXPECT_EQ(error_of<xdr::text<3>>(words({4, 0})), "a length of 4 exceeds the bound 3, at byte 4");
  EXPECT_EQ(error_of<xdr::text<>>(words({5, 0})),
            "a length of 5 needs more than the 4 bytes that are left, at byte 4");
  EXPECT_EQ(error_of<xdr::list<std::uint64_t>>(words({0x7fffffff, 0})),
            "a length of 2147483647 needs more than the 4 bytes that are left, at byte 4");
  EXPECT_EQ(error_of<xdr::opaque<>>(words({0xffffffff})),
            "a length of 4294967295 needs more than the 0 bytes that are left, at byte 4");
  EXPECT_EQ(error_of<pair_of_names>(words({0, 1, 9})),
            "second[0]: a length of 9 exceeds the bound 8, at byte 12");
}

HEDDLE_TEST(xdr, "nonzero padding, other bools and unknown enum values are refused") {
  EXPECT_EQ(error_of<xdr::text<>>(words({1, 0x61000001})), "padding is not zero, at byte 8");
  EXPECT_EQ(error_of<xdr::opaque<>>(words({2, 0x61610100})), "padding is not zero, at byte 8");
  EXPECT_EQ(error_of<bool>(words({2})), "a bool is 0 or 1, and this is 2, at byte 4");
  EXPECT_EQ(error_of<color_name>(words({1})), "the enum has no value 1, at byte 4");
  EXPECT_EQ(error_of<number_or_name>(words({3})),
            "kind: the union has no arm for this value, at byte 4");
  EXPECT_EQ(error_of<std::uint32_t>(words({3, 4})), "4 bytes are left after the value, at byte 4");
}

HEDDLE_TEST(xdr, "nesting deeper than 64 is refused, and a list of 200,000 elements is read") {
  xdr::writer deep;
  for (int i = 0; i != 65; ++i) deep.write(std::uint32_t{1});
  deep.write(std::uint32_t{0});
  EXPECT_NE(error_of<nested>(deep.take()).find("deeper than 64"), std::string::npos);
  xdr::writer shallow;
  for (int i = 0; i != 63; ++i) shallow.write(std::uint32_t{1});
  shallow.write(std::uint32_t{0});
  EXPECT_EQ(error_of<nested>(shallow.take()), "");

  xdr::link<number_list> all;
  xdr::list_builder<number_list> builder(all);
  for (std::int32_t i = 0; i != 200'000; ++i) builder.append().number = i;
  auto read = xdr::decode<xdr::link<number_list>>(xdr::encode(all));
  ASSERT_TRUE(read.has_value()) << read.error();
  std::int32_t count = 0;
  for (const number_list* e = read->get(); e != nullptr; e = e->next.get())
    EXPECT_EQ(e->number, count++);
  EXPECT_EQ(count, 200'000);
}

HEDDLE_TEST(xdr, "a reader allocates at most memory_bytes_max") {
  xdr::list<std::array<std::int64_t, 1>> many(1000);
  EXPECT_EQ(error_of<decltype(many)>(xdr::encode(many), {.memory_bytes_max = 8000}), "");
  EXPECT_NE(error_of<decltype(many)>(xdr::encode(many), {.memory_bytes_max = 7999})
                .find("memory_bytes_max"),
            std::string::npos);
}

HEDDLE_TEST(xdr, "opaque data shares the pieces in which it arrived") {
  const piece block = piece::copy_of(std::string_view("\0\0\3\xe8", 4));
  const piece data(std::string(1000, 'x'));
  chain all;
  all.append(block).append(data);
  auto read = xdr::decode<xdr::opaque<>>(all);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->piece_at(0).bytes().data(), data.bytes().data());
  const chain again = xdr::encode(*read);
  EXPECT_EQ(again.piece_at(1).bytes().data(), data.bytes().data());
}

}  // namespace
}  // namespace heddle::test
