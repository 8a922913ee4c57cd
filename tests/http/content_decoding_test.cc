// SPDX-License-Identifier: MIT
// Texts in each coding, cut anywhere, give back what was packed; damaged ones are refused.
#include "heddle/http/content_decoding.hh"

#include <random>
#include <string>

#include "heddle/base/error.hh"
#include "support/test.hh"

using namespace heddle;
using namespace heddle::http;

namespace {

constexpr content_coding all[] = {content_coding::brotli, content_coding::zstd,
                                  content_coding::gzip};

std::string some_text(std::size_t bytes) {
  std::minstd_rand random(7);
  std::string text;
  while (text.size() < bytes) text += std::to_string(random() % 5000) + ' ';
  text.resize(bytes);
  return text;
}

/// The plain text, with the input in parts of `step` bytes and `room` bytes for output.
std::string unpacked(content_coding coding, std::string_view packed, std::size_t step,
                     std::size_t room) {
  content_reader reader(coding);
  std::string plain, part(room, '\0');
  std::string_view rest;
  for (;;) {
    if (const std::size_t n = reader.read(rest, part)) {
      plain.append(part, 0, n);
      continue;
    }
    EXPECT_TRUE(rest.empty());
    if (packed.empty()) break;
    rest = packed.substr(0, step);
    packed.remove_prefix(rest.size());
  }
  reader.finish();
  return plain;
}

std::string refusal(content_coding coding, std::string_view packed) {
  try {
    unpacked(coding, packed, 100, 1000);
  } catch (const failure& why) {
    EXPECT_EQ(why.code(), std::errc::bad_message);
    return why.what();
  }
  return "accepted";
}

}  // namespace

HEDDLE_TEST(content_decoding, "each coding gives back what was packed, however it is cut") {
  const std::string text = some_text(100'000);
  for (const content_coding coding : all) {
    if (!codings_read().has(coding)) continue;
    const std::string packed = *compress(coding, text);
    for (const std::size_t step :
         {std::size_t{1}, std::size_t{7}, std::size_t{5000}, packed.size()})
      for (const std::size_t room : {1u, 100u, 16'384u})
        EXPECT_TRUE(unpacked(coding, packed, step, room) == text) << name_of(coding) << ' ' << step;
  }
}

HEDDLE_TEST(content_decoding, "what has arrived is given before more is asked for") {
  const auto given = [](content_reader& reader, std::string_view packed, std::size_t room) {
    std::string part(room, '\0');
    std::size_t count = 0;
    while (const std::size_t n = reader.read(packed, part)) count += n;
    return count;
  };
  // zlib holds output inside of a long match, zstd at the end of a block of 128 KiB.
  for (const std::string& text : {some_text(500) + std::string(500, 'a'), some_text(150'000)})
    for (const content_coding coding : all) {
      if (!codings_read().has(coding)) continue;
      content_reader narrow(coding), wide(coding);
      const std::string packed = *compress(coding, text);
      for (std::size_t at = 0; at < packed.size(); ++at) {
        const std::string_view byte = std::string_view(packed).substr(at, 1);
        ASSERT_EQ(given(narrow, byte, 1), given(wide, byte, text.size()))
            << name_of(coding) << ' ' << at;
      }
    }
}

HEDDLE_TEST(content_decoding, "gzip members and zstd frames in a row are one text") {
  const std::string text = some_text(5000);
  for (const content_coding coding : {content_coding::gzip, content_coding::zstd}) {
    if (!codings_read().has(coding)) continue;
    const std::string packed = *compress(coding, text);
    EXPECT_EQ(unpacked(coding, packed + packed, 11, 64), text + text) << name_of(coding);
    const std::string cut = packed + packed.substr(0, packed.size() - 1);
    EXPECT_NE(refusal(coding, cut).find("incomplete"), std::string::npos) << name_of(coding);
  }
}

HEDDLE_TEST(content_decoding, "a text that ends early is refused at its end, wherever it is cut") {
  const std::string text = some_text(2000);
  for (const content_coding coding : all) {
    if (!codings_read().has(coding)) continue;
    const std::string packed = *compress(coding, text);
    for (std::size_t cut = 0; cut < packed.size(); ++cut)
      EXPECT_NE(refusal(coding, std::string_view(packed).substr(0, cut)).find("incomplete"),
                std::string::npos)
          << name_of(coding) << ' ' << cut;
  }
}

HEDDLE_TEST(content_decoding, "bytes of another format are refused, also behind a whole text") {
  for (const content_coding coding : all) {
    if (!codings_read().has(coding)) continue;
    const std::string name(name_of(coding));
    EXPECT_NE(refusal(coding, "\xff\xff plain text").find("not valid " + name), std::string::npos)
        << name;
    EXPECT_NE(refusal(coding, *compress(coding, some_text(500)) + "more").find("not valid " + name),
              std::string::npos)
        << name;
  }
}

HEDDLE_TEST(content_decoding, "a coding that the build cannot read is refused") {
  const auto reads = [](content_coding coding) {
    try {
      content_reader reader(coding);
      return true;
    } catch (const failure&) {
      return false;
    }
  };
  EXPECT_FALSE(reads(content_coding::identity));
  for (const content_coding coding : all)
    EXPECT_EQ(reads(coding), codings_read().has(coding)) << name_of(coding);
  EXPECT_EQ(coding_named("X-GZIP"), content_coding::gzip);
  EXPECT_EQ(coding_named("deflate"), std::nullopt);
}

HEDDLE_TEST(content_decoding, "a zstd window beyond 8 MiB is refused") {
  if (!codings_read().has(content_coding::zstd)) GTEST_SKIP() << "without libzstd";
  // A frame whose header asks for a window of 16 MiB, with one raw block of a byte (RFC 8878).
  const std::string frame("\x28\xb5\x2f\xfd\x00\x70\x09\x00\x00x", 10);
  EXPECT_NE(refusal(content_coding::zstd, frame).find("not valid zstd"), std::string::npos);
  std::string smaller = frame;
  smaller[5] = 0x68;  // 8 MiB
  EXPECT_EQ(unpacked(content_coding::zstd, smaller, 3, 10), "x");
}
