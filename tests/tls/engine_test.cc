// SPDX-License-Identifier: MIT
// The engine by itself: two ends in memory, whose records come whole, in pieces, several at once,
// damaged, or too many of the kind that only makes work.
#include "tls/ssl_engine.hh"

#include <openssl/ssl.h>

#include <algorithm>
#include <string>

#include "support/test.hh"
#include "support/tls_files.hh"
#include "tls/client_state.hh"
#include "tls/server_state.hh"

namespace heddle::tls::detail {
namespace {

using test::tls_files;

constexpr tls::limits usual{};

/// Both ends, after their handshake.
struct engines {
  explicit engines(const tls::limits& of_server = usual, version newest = version::tls13,
                   bool own = test::tests_own_records())
      : site({.certificates = {tls_files::get().certificate("site")},
              .newest = newest,
              .own_records = own}),
        trust({.authorities = tls_files::get().authority()}),
        table(site.sites()) {
    ssl_handle ssl(SSL_new(table->first()));
    server = std::make_unique<ssl_engine>(std::move(ssl), true, of_server, own ? &site : nullptr);
    ssl = trust.open(host);
    raw_client = ssl.get();
    client = std::make_unique<ssl_engine>(std::move(ssl), false, usual);
    for (int i = 0; i < 6 && !(client->established() && server->established()); ++i) {
      EXPECT_NE(client->shake(), engine::step::failed) << client->why().text;
      carry(*client, *server);
      EXPECT_NE(server->shake(), engine::step::failed) << server->why().text;
      carry(*server, *client);
    }
    if (auto next = server->successor()) {
      server = std::move(next);
      is_own = true;
    }
    EXPECT_EQ(is_own, own && newest == version::tls13);
    received tickets;
    EXPECT_EQ(client->open(tickets), engine::step::wants_input);
  }

  static std::string sent(engine& by) {
    std::string bytes(by.out().bytes().text());
    by.out().drop_prefix(bytes.size());
    return bytes;
  }
  static void carry(engine& from, engine& to) { give(to, sent(from)); }
  static void give(engine& to, std::string_view bytes) {
    if (!bytes.empty()) to.feed(received::copy_of(bytes));
  }
  static std::string sealed(engine& by, std::string_view text) {
    const byte_view texts[] = {text};
    EXPECT_EQ(by.seal(texts, text.size()), text.size());
    return sent(by);
  }
  /// Everything that can be opened.
  static std::string opened(engine& by) {
    std::string text;
    received in;
    while (by.open(in) == engine::step::done && !in.empty()) text += in.text();
    return text;
  }

  std::string host = "localhost";
  server_state site;
  client_state trust;
  std::shared_ptr<const site_table> table;
  std::unique_ptr<engine> server;
  std::unique_ptr<engine> client;
  bool is_own = false;  // the server's records are
  SSL* raw_client = nullptr;
};

std::string varied(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 31 + i / 253);
  return text;
}

HEDDLE_TEST(tls_engine, "records open in the block that brought them, however it is cut") {
  for (const version v : {version::tls12, version::tls13}) {
    engines both(usual, v);
    const std::string text = varied(40'000) + "end";
    for (const std::size_t cut : {std::size_t{1}, std::size_t{3}, std::size_t{5}, std::size_t{21},
                                  std::size_t{4096}, std::size_t{16'413}, std::size_t{100'000}}) {
      std::string bytes;
      for (std::size_t at = 0, size = 1; at < text.size(); at += size, size = size * 3 + 1)
        bytes += engines::sealed(*both.client, std::string_view(text).substr(at, size));
      std::string got;
      for (std::size_t at = 0; at < bytes.size(); at += cut) {
        engines::give(*both.server, std::string_view(bytes).substr(at, cut));
        got += engines::opened(*both.server);
      }
      EXPECT_TRUE(got == text) << cut;
      EXPECT_FALSE(both.server->broken()) << both.server->why().text;
    }
  }
}

HEDDLE_TEST(tls_engine, "texts are gathered in records and arrive in order") {
  engines both;
  const std::string text = varied(70'000);
  for (const std::size_t step : {1u, 100u, 4095u, 4096u, 20'000u}) {
    std::vector<byte_view> texts;
    for (std::size_t at = 0; at < text.size() && texts.size() < 16; at += step)
      texts.emplace_back(std::string_view(text).substr(at, step));
    std::size_t size = 0;
    for (const byte_view& t : texts) size += t.size();
    std::string got;
    const std::size_t sealed = both.server->seal(texts, 32 * 1024);
    EXPECT_EQ(sealed, std::min<std::size_t>(size, 32 * 1024));
    engines::carry(*both.server, *both.client);
    got = engines::opened(*both.client);
    EXPECT_TRUE(got == text.substr(0, sealed)) << step;
  }
}

HEDDLE_TEST(tls_engine, "a changed bit anywhere is an error, and no byte behind it is given") {
  for (std::size_t at = 0; at < 60; ++at) {
    engines both;
    std::string bytes = engines::sealed(*both.client, "a text of some bytes, sealed");
    if (at >= bytes.size()) break;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x40);
    engines::give(*both.server, bytes);
    received in;
    auto next = both.server->open(in);
    if (next == engine::step::wants_input) {  // the length says that more is to come
      both.server->feed_end();
      next = both.server->open(in);
    }
    EXPECT_EQ(next, engine::step::failed) << at;
    EXPECT_TRUE(in.empty());
    EXPECT_FALSE(both.server->why().text.empty());
    EXPECT_EQ(both.server->open(in), engine::step::failed);
  }
}

HEDDLE_TEST(tls_engine, "bytes before damage are given, and the error comes next") {
  engines both;
  std::string bytes = engines::sealed(*both.client, "good");
  std::string bad = engines::sealed(*both.client, "bad");
  bad.back() = static_cast<char>(bad.back() ^ 1);
  engines::give(*both.server, bytes + bad + "rest");
  received in;
  EXPECT_EQ(both.server->open(in), engine::step::done);
  EXPECT_EQ(in.text(), "good");
  EXPECT_EQ(both.server->open(in), engine::step::failed);
}

HEDDLE_TEST(tls_engine, "key updates are answered, and a flood of them is an error") {
  tls::limits few;
  few.key_updates_max = 5;
  engines both(few);
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(SSL_key_update(both.raw_client, SSL_KEY_UPDATE_REQUESTED), 1);
    std::string bytes = engines::sealed(*both.client, "x");
    engines::give(*both.server, bytes);
    EXPECT_EQ(engines::opened(*both.server), "x");
    // The answer leaves before the next bytes.
    engines::give(*both.client, engines::sealed(*both.server, "with new keys"));
    EXPECT_EQ(engines::opened(*both.client), "with new keys");
  }
  ASSERT_EQ(SSL_key_update(both.raw_client, SSL_KEY_UPDATE_REQUESTED), 1);
  engines::give(*both.server, engines::sealed(*both.client, "x"));
  engines::opened(*both.server);
  EXPECT_TRUE(both.server->broken());
  EXPECT_NE(both.server->why().text.find("key_updates_max"), std::string::npos);
}

HEDDLE_TEST(tls_engine, "the announced end is told from a cut") {
  engines both;
  const std::string last = engines::sealed(*both.client, "last");
  both.client->say_end();
  engines::give(*both.server, last + engines::sent(*both.client));
  both.server->feed_end();
  received in;
  EXPECT_EQ(both.server->open(in), engine::step::done);
  EXPECT_EQ(in.text(), "last");
  received end;
  EXPECT_EQ(both.server->open(end), engine::step::done);
  EXPECT_TRUE(end.empty());

  engines cut;
  engines::give(*cut.server, engines::sealed(*cut.client, "last").substr(0, 10));
  EXPECT_EQ(cut.server->open(in), engine::step::wants_input);
  cut.server->feed_end();
  EXPECT_EQ(cut.server->open(in), engine::step::failed);
  EXPECT_EQ(cut.server->why().code, std::errc::connection_aborted);
}

HEDDLE_TEST(tls_engine, "an engine that waits holds no block") {
  struct lender : block_lender {
    void return_block(std::uint32_t) noexcept override { ++back; }
    int back = 0;
  } blocks;
  engines both;
  std::string bytes = engines::sealed(*both.client, "some text").substr(0, 12);
  both.server->feed(received(blocks, 1, byte_span(bytes.data(), bytes.size())));
  received in;
  EXPECT_EQ(both.server->open(in), engine::step::wants_input);
  EXPECT_EQ(blocks.back, 1);
}

}  // namespace
}  // namespace heddle::tls::detail
