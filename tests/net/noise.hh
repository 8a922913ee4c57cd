// SPDX-License-Identifier: MIT
// Streams of known bytes in both directions at once, compared byte by byte, for tests of
// interoperation.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "heddle/heddle.hh"

namespace heddle::test {

using namespace std::chrono_literals;

inline constexpr std::size_t stream_bytes = 1'500'000;

struct byte_noise {
  std::uint32_t x;
  char next() { return static_cast<char>((x = x * 1664525 + 1013904223) >> 24); }
};

inline task<> send_noise(stream s, std::uint32_t seed) {
  byte_noise n{seed};
  std::size_t left = stream_bytes;
  for (std::size_t piece = 1; left != 0; piece = piece * 3 % 60'013 + 1) {
    std::string text(std::min(piece, left), '\0');
    for (char& c : text) c = n.next();
    left -= text.size();
    co_await s.write(std::move(text));
  }
  s.shutdown_write();
}

/// Compares all. After the first bytes it may rest, so that the sender meets a window of zero.
inline task<> check_noise(stream s, std::uint32_t seed, bool rests) {
  byte_noise n{seed};
  std::size_t got = 0;
  bool same = true;
  while (received in = co_await s.receive()) {
    for (const char c : in.text()) same = same && c == n.next();
    if (rests && got == 0) co_await sleep_for(400ms);
    got += in.size();
  }
  EXPECT_EQ(got, stream_bytes);
  EXPECT_TRUE(same);
}

/// Both sides send at the same time.
inline task<> exchange(stream s, std::uint32_t send_seed, std::uint32_t receive_seed, bool rests) {
  scope both;
  both.spawn(send_noise(s, send_seed));
  both.spawn(check_noise(s, receive_seed, rests));
  co_await both.join();
}

}  // namespace heddle::test
