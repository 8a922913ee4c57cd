// SPDX-License-Identifier: MIT
// apps/seccomm: what is pushed pops on the other side and nowhere else; whatever is changed, comes
// twice or comes from somebody without the key is refused.
#include <openssl/evp.h>

#include <stdexcept>

#include "channel.hh"
#include "cipher.hh"
#include "support/drivers.hh"
#include "talk.hh"

namespace {

using seccomm::channel;
using seccomm::packet;
using seccomm::side;

using bytes = std::vector<std::byte>;

bytes text(std::size_t size) {
  bytes out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::byte>(i * 7 + 3);
  return out;
}

/// Two ends with one key; what leaves the first stands in `wires`, what arrives in `messages`.
struct pair {
  explicit pair(const std::string& ciphers = "chacha20,aes_256_gcm")
      : key(seccomm::make_key()),
        first(key, side::first, ciphers),
        second(key, side::second, ciphers) {
    first.bus.bind<seccomm::packet_to_net>(
        [this](packet& p) { wires.emplace_back(p.wire().begin(), p.wire().end()); });
    second.bus.bind<seccomm::message_pop>(
        [this](packet& p) { messages.emplace_back(p.message().begin(), p.message().end()); });
  }
  seccomm::shared_key key;
  channel first;
  channel second;
  std::vector<bytes> wires;
  std::vector<bytes> messages;
};

HEDDLE_TEST(seccomm, "a message of any size arrives as it was, by each composition") {
  for (const char* ciphers : {"chacha20,aes_256_gcm", "aes_256_gcm", "aes_256_gcm,chacha20",
                              "chacha20,chacha20,aes_256_gcm"}) {
    pair p(ciphers);
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{15}, std::size_t{64},
                                   std::size_t{1000}, seccomm::message_max}) {
      p.first.push(text(size));
      EXPECT_EQ(p.wires.back().size(), seccomm::header_bytes + size + 16) << ciphers;
      p.second.pop(p.wires.back());
      ASSERT_FALSE(p.messages.empty()) << ciphers << size;
      EXPECT_EQ(p.messages.back(), text(size)) << ciphers;
    }
    EXPECT_EQ(p.messages.size(), 6u);
  }
}

HEDDLE_TEST(seccomm, "the wire is AES-256-GCM around ChaCha20, as OpenSSL alone undoes it") {
  pair p;
  p.first.push(text(100));
  bytes body(p.wires[0].begin() + seccomm::header_bytes, p.wires[0].end());
  const auto at = [&](std::size_t i) { return reinterpret_cast<unsigned char*>(&body[i]); };
  int len = 0;
  auto gcm = seccomm::make_context(EVP_aes_256_gcm(),
                                   seccomm::derive_key(p.key, "aes_256_gcm", side::first), false);
  const auto iv = seccomm::nonce_of<12>(1);
  ASSERT_EQ(EVP_DecryptInit_ex(gcm.get(), nullptr, nullptr, nullptr, iv.data()), 1);
  ASSERT_EQ(EVP_CIPHER_CTX_ctrl(gcm.get(), EVP_CTRL_AEAD_SET_TAG, 16, at(100)), 1);
  ASSERT_EQ(EVP_DecryptUpdate(gcm.get(), at(0), &len, at(0), 100), 1);
  ASSERT_EQ(EVP_DecryptFinal_ex(gcm.get(), at(0), &len), 1);
  auto chacha = seccomm::make_context(EVP_chacha20(),
                                      seccomm::derive_key(p.key, "chacha20", side::first), false);
  const auto nonce = seccomm::nonce_of<16>(1);
  ASSERT_EQ(EVP_DecryptInit_ex(chacha.get(), nullptr, nullptr, nullptr, nonce.data()), 1);
  ASSERT_EQ(EVP_DecryptUpdate(chacha.get(), at(0), &len, at(0), 100), 1);
  body.resize(100);
  EXPECT_EQ(body, text(100));
}

HEDDLE_TEST(seccomm, "equal messages look different, and unlike the message") {
  pair p;
  p.first.push(text(64));
  p.first.push(text(64));
  EXPECT_NE(bytes(p.wires[0].begin() + 8, p.wires[0].end()),
            bytes(p.wires[1].begin() + 8, p.wires[1].end()));
  EXPECT_FALSE(std::ranges::equal(std::span(p.wires[0]).subspan(8, 64), text(64)));
}

HEDDLE_TEST(seccomm, "each bit that is changed, and each byte that is missing, is noticed") {
  pair p;
  p.first.push(text(20));
  for (std::size_t bit = 0; bit < 8 * p.wires[0].size(); ++bit) {
    bytes changed = p.wires[0];
    changed[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    p.second.pop(changed);
  }
  for (std::size_t size = 0; size < p.wires[0].size(); ++size)
    p.second.pop(std::span(p.wires[0]).first(size));
  bytes longer = p.wires[0];
  longer.resize(sizeof(packet) + 1);
  p.second.pop(longer);
  EXPECT_EQ(p.messages.size(), 0u);
  // Number 1 with its lowest bit changed is number 0, which is nobody's.
  EXPECT_EQ(p.second.refused + p.second.replayed, 8 * p.wires[0].size() + p.wires[0].size() + 1);
  p.second.pop(p.wires[0]);
  EXPECT_EQ(p.messages.size(), 1u);
}

HEDDLE_TEST(seccomm, "what comes twice or much too late is refused, what is overtaken is not") {
  pair p;
  for (int i = 0; i < 100; ++i) p.first.push(text(10));
  for (const int i : {0, 2, 1, 99, 36}) p.second.pop(p.wires[static_cast<std::size_t>(i)]);
  EXPECT_EQ(p.messages.size(), 5u);
  for (const int i : {0, 1, 2, 35, 36, 99}) p.second.pop(p.wires[static_cast<std::size_t>(i)]);
  EXPECT_EQ(p.messages.size(), 5u);
  EXPECT_EQ(p.second.replayed, 6u);
  EXPECT_EQ(p.second.refused, 0u);
}

HEDDLE_TEST(seccomm, "another key, and one's own packets sent back, are refused") {
  pair p;
  p.first.push(text(10));
  channel stranger(seccomm::make_key(), side::second);
  stranger.pop(p.wires[0]);
  EXPECT_EQ(stranger.refused, 1u);
  p.first.pop(p.wires[0]);
  EXPECT_EQ(p.first.refused, 1u);
}

HEDDLE_TEST(seccomm,
            "a composition that would not notice changes, and a long message, are refused") {
  const auto refusal = [](const char* ciphers) {
    try {
      const channel c(seccomm::make_key(), side::first, ciphers);
    } catch (const std::invalid_argument& why) {
      return std::string(why.what());
    }
    return std::string("accepted");
  };
  EXPECT_NE(refusal("chacha20").find("add it"), std::string::npos);
  EXPECT_NE(refusal("aes_256_gcm,rot13").find("no cipher 'rot13'"), std::string::npos);
  EXPECT_NE(refusal("aes_256_gcm,aes_256_gcm").find("(once)"), std::string::npos);
  EXPECT_NE(refusal("").find("no cipher ''"), std::string::npos);
  pair p;
  EXPECT_THROW(p.first.push(text(seccomm::message_max + 1)), std::length_error);
}

DRIVER_TEST(seccomm, "two channels talk over UDP") {
  heddle::runtime rt(make(), heddle::test::one_worker());
  const auto results = rt.run(seccomm::talk({.sizes = {64, 2048}, .count = 640}));
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].arrived, 640u);
  EXPECT_EQ(results[1].arrived, 640u);
  EXPECT_EQ(results[1].size, 2048u);
  EXPECT_THROW(static_cast<void>(rt.run(seccomm::talk({.sizes = {2049}, .count = 1}))),
               std::invalid_argument);
}

}  // namespace
