// SPDX-License-Identifier: MIT
// Own records (RFC 8446, 5, 4.6.3, 6): against OpenSSL's client with every cipher, padding, small
// records and KeyUpdate; and against records made here that break each rule, with the alert that
// answers them.
#include "tls/record_engine.hh"

#include <openssl/ssl.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/test.hh"
#include "support/tls_files.hh"
#include "tls/client_state.hh"
#include "tls/server_state.hh"
#include "tls/ssl_engine.hh"

namespace heddle::tls::detail {
namespace {

using test::tls_files;
using step = engine::step;

constexpr tls::limits default_limits{};

std::string out_of(engine& by) {
  std::string bytes(by.out().bytes().text());
  if (!bytes.empty()) by.out().drop_prefix(bytes.size());
  return bytes;
}

std::string seal_text(engine& by, std::string_view text) {
  const byte_view texts[] = {text};
  EXPECT_EQ(by.seal(texts, text.size()), text.size());
  return out_of(by);
}

/// Everything that this engine makes of these bytes, which arrive in pieces of this size.
std::string open_all(engine& by, std::string_view bytes, std::size_t cut = 1 << 20) {
  std::string text;
  received in;
  for (std::size_t at = 0; at < bytes.size(); at += cut) {
    by.feed(received::copy_of(bytes.substr(at, cut)));
    while (by.open(in) == step::done && !in.empty()) text += in.text();
  }
  return text;
}

std::string mixed_text(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 13 + i / 251);
  return text;
}

/// OpenSSL's client and a server with own records, after the handshake.
struct openssl_client {
  explicit openssl_client(const char* cipher, server_state& at, client_state& by,
                          const tls::limits& bounds = default_limits)
      : table(at.sites()) {
    ssl_handle ssl(SSL_new(table->first()));
    auto shaking = std::make_unique<ssl_engine>(std::move(ssl), true, bounds, &at);
    ssl = by.open(host);
    raw = ssl.get();
    if (cipher != nullptr) EXPECT_EQ(SSL_set_ciphersuites(raw, cipher), 1);
    client = std::make_unique<ssl_engine>(std::move(ssl), false, default_limits);
    for (int i = 0; i < 6 && !(client->established() && shaking->established()); ++i) {
      EXPECT_NE(client->shake(), step::failed) << client->why().text;
      if (const std::string sent = out_of(*client); !sent.empty())
        shaking->feed(received::copy_of(std::string_view(sent)));
      EXPECT_NE(shaking->shake(), step::failed) << shaking->why().text;
      if (const std::string sent = out_of(*shaking); !sent.empty())
        client->feed(received::copy_of(std::string_view(sent)));
    }
    server = shaking->successor();
    if (server == nullptr) ADD_FAILURE() << "OpenSSL kept the connection";
    received tickets;
    EXPECT_EQ(client->open(tickets), step::wants_input);
  }

  std::string host = "localhost";
  std::shared_ptr<const site_table> table;
  std::unique_ptr<engine> client;
  std::unique_ptr<engine> server;
  SSL* raw = nullptr;
};

struct world {
  explicit world(std::uint32_t tickets = 1)
      : site({.certificates = {tls_files::get().certificate("site")},
              .tickets = tickets,
              .own_records = true}),
        trust({.authorities = tls_files::get().authority()}) {}
  server_state site;
  client_state trust;
};

constexpr const char* all_ciphers[] = {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384",
                                       "TLS_CHACHA20_POLY1305_SHA256"};

HEDDLE_TEST(tls_records, "every cipher agrees with OpenSSL, in both directions, however cut") {
  for (const char* cipher : all_ciphers) {
    SCOPED_TRACE(cipher);
    world w;
    openssl_client both(cipher, w.site, w.trust);
    EXPECT_EQ(both.server->agreed().cipher, cipher);
    const std::string text = mixed_text(70'000);
    for (const std::size_t cut : {1u, 4u, 5u, 22u, 1000u, 16'406u, 100'000u}) {
      EXPECT_TRUE(open_all(*both.server, seal_text(*both.client, text), cut) == text) << cut;
      EXPECT_TRUE(open_all(*both.client, seal_text(*both.server, text), cut) == text) << cut;
    }
    EXPECT_FALSE(both.server->broken());
  }
}

HEDDLE_TEST(tls_records, "the sequence begins behind any number of tickets, and when resumed") {
  for (const std::uint32_t tickets : {0u, 1u, 2u, 5u}) {
    world w(tickets);
    for (int i = 0; i < 3; ++i) {
      openssl_client both(nullptr, w.site, w.trust);
      EXPECT_EQ(both.server->agreed().resumed, i > 0 && tickets > 0);
      EXPECT_EQ(open_all(*both.client, seal_text(*both.server, "down")), "down") << tickets;
      EXPECT_EQ(open_all(*both.server, seal_text(*both.client, "up")), "up");
      both.client->say_end();  // else OpenSSL resumes no session of it
    }
  }
}

HEDDLE_TEST(tls_records, "OpenSSL's padding and small records are understood") {
  world w;
  openssl_client both(nullptr, w.site, w.trust);
  const std::string text = mixed_text(20'000);
  for (const std::size_t block : {2u, 64u, 1000u, 4096u, 16'384u}) {
    ASSERT_EQ(SSL_set_block_padding(both.raw, block), 1);
    EXPECT_TRUE(open_all(*both.server, seal_text(*both.client, text), 3000) == text) << block;
    EXPECT_EQ(open_all(*both.server, seal_text(*both.client, "x")), "x");
  }
  ASSERT_EQ(SSL_set_max_send_fragment(both.raw, 512), 1);
  EXPECT_TRUE(open_all(*both.server, seal_text(*both.client, text), 700) == text);
}

HEDDLE_TEST(tls_records, "the peer's key updates are followed, and answered if it asks") {
  for (const char* cipher : all_ciphers) {
    world w;
    openssl_client both(cipher, w.site, w.trust);
    for (int i = 0; i < 8; ++i) {
      const bool asks = i % 2 == 0;
      ASSERT_EQ(
          SSL_key_update(both.raw, asks ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED),
          1);
      EXPECT_EQ(open_all(*both.server, seal_text(*both.client, "up")), "up");
      EXPECT_EQ(both.server->out().empty(), !asks);
      EXPECT_EQ(open_all(*both.client, seal_text(*both.server, "down")), "down");
      EXPECT_EQ(SSL_get_key_update_type(both.raw), SSL_KEY_UPDATE_NONE);
    }
  }
}

HEDDLE_TEST(tls_records, "a key seals a limited number of records, and then is updated") {
  tls::limits few;
  few.records_per_key_max = 4;
  world w;
  openssl_client both(nullptr, w.site, w.trust, few);
  for (int i = 0; i < 50; ++i) {
    const std::string sealed = seal_text(*both.server, "down");
    EXPECT_EQ(open_all(*both.client, sealed), "down");
    // Of four records one is a KeyUpdate; the handshake's ticket was one, too.
    EXPECT_EQ(sealed.size() > 4 + record_extra_bytes, i % 3 == 2) << i;
  }
  const std::string long_text = mixed_text(200'000);
  EXPECT_TRUE(open_all(*both.client, seal_text(*both.server, long_text)) == long_text);
  EXPECT_EQ(open_all(*both.server, seal_text(*both.client, "up")), "up");
}

HEDDLE_TEST(tls_records, "OpenSSL understands the end, and its own end is understood") {
  world w;
  openssl_client both(nullptr, w.site, w.trust);
  both.server->say_end();
  both.server->say_end();
  received in;
  both.client->feed(received::copy_of(std::string_view(out_of(*both.server))));
  EXPECT_EQ(both.client->open(in), step::done);
  EXPECT_TRUE(in.empty());
  // The other direction is open; a key update is then not answered, because nothing follows an end.
  ASSERT_EQ(SSL_key_update(both.raw, SSL_KEY_UPDATE_REQUESTED), 1);
  EXPECT_EQ(open_all(*both.server, seal_text(*both.client, "last")), "last");
  EXPECT_TRUE(both.server->out().empty());
  both.client->say_end();
  both.server->feed(received::copy_of(std::string_view(out_of(*both.client) + "anything")));
  EXPECT_EQ(both.server->open(in), step::done);
  EXPECT_TRUE(in.empty());
  EXPECT_FALSE(both.server->broken());
}

// From here on both ends are record engines with secrets of the test, so that any bytes can be
// sealed.
struct made_records {
  explicit made_records(const tls::limits& bounds = default_limits, suite kind = suite::aes128_gcm)
      : of_peer(kind, secret_of('p')) {
    const record_start start{.kind = kind,
                             .of_peer = secret_of('p'),
                             .of_us = secret_of('u'),
                             .sent = 0,
                             .agreed = std::make_shared<const session>()};
    server.emplace(start, bounds);
    const record_start mirrored{.kind = kind,
                                .of_peer = secret_of('u'),
                                .of_us = secret_of('p'),
                                .sent = 0,
                                .agreed = start.agreed};
    client.emplace(mirrored, default_limits);
  }
  static std::span<const unsigned char> secret_of(char c) {
    static const std::string peer(48, 'p');
    static const std::string us(48, 'u');
    const std::string& text = c == 'p' ? peer : us;
    return {reinterpret_cast<const unsigned char*>(text.data()), text.size()};
  }
  /// A record whose inner plaintext is the text, the type and padding.
  std::string record(content kind, std::string_view text, std::size_t padding = 0) {
    std::string inner(text);
    if (padding != 0) {
      inner += static_cast<char>(kind);
      inner.append(padding - 1, '\0');
      kind = content{0};  // the last byte of the padding
    }
    std::string bytes(inner.size() + record_extra_bytes, '\0');
    const byte_view view = std::string_view(inner);
    text_cursor from(std::span(&view, 1));
    EXPECT_TRUE(of_peer.seal(reinterpret_cast<std::byte*>(bytes.data()), kind, from, inner.size()));
    return bytes;
  }
  std::string data(std::string_view text, std::size_t padding = 0) {
    return record(content::application_data, text, padding);
  }
  /// What the server gives, and the text of its failure.
  std::string fate(std::string_view bytes) {
    const std::string text = open_all(*server, bytes);
    return text + '|' + server->why().text;
  }
  /// The number of the alert that the server sent; 256 without one.
  int alert_sent() {
    received in;
    client->feed(received::copy_of(std::string_view(out_of(*server))));
    static_cast<void>(client->open(in));
    for (int n = 1; n < 256; ++n)
      if (trouble_of_alert("reading from a TLS stream", static_cast<std::uint8_t>(n)).text ==
          client->why().text)
        return n;
    return 256;
  }

  traffic_key of_peer;
  std::optional<record_engine> server;
  std::optional<record_engine> client;
};

/// Records in the order in which they were sealed: that of a list is fixed, that of + is not.
std::string joined(std::initializer_list<std::string> records) {
  std::string all;
  for (const std::string& r : records) all += r;
  return all;
}

std::string key_update_message(char asks) { return std::string("\x18\x00\x00\x01", 4) + asks; }

struct bad_case {
  const char* why;
  std::string (*bytes)(made_records&);
  int alert;
};

HEDDLE_TEST(tls_records,
            "each broken rule is answered by its alert, and by an error that says it") {
  const bad_case cases[] = {
      {"not encrypted",
       [](made_records&) { return std::string("\x15\x03\x03\x00\x02\x02\x28", 7); }, 10},
      {"not encrypted", [](made_records&) { return std::string("\x14\x03\x03\x00\x01\x01", 6); },
       10},
      {"more than 16,640", [](made_records&) { return std::string("\x17\x03\x03\x41\x01", 5); },
       22},
      {"shorter than its tag", [](made_records&) { return std::string("\x17\x03\x03\x00\x10", 5); },
       20},
      {"changed on its way",
       [](made_records& m) {
         std::string r = m.data("text");
         r[7] ^= 1;
         return r;
       },
       20},
      {"changed on its way",  // the head is authenticated, too
       [](made_records& m) {
         std::string r = m.data("text");
         r[2] = 1;
         return r;
       },
       20},
      {"changed on its way",  // a record that is repeated
       [](made_records& m) {
         const std::string r = m.data("");
         return r + r;
       },
       20},
      {"more than 16,384",
       [](made_records& m) { return m.data(std::string(content_bytes_max + 1, 'a')); }, 22},
      {"more than 16,384",  // padding counts
       [](made_records& m) { return m.data(std::string(content_bytes_max, 'a'), 1); }, 22},
      {"nothing but padding", [](made_records& m) { return m.record(content{0}, ""); }, 10},
      {"does not belong here",
       [](made_records& m) { return m.record(content::change_cipher_spec, "\x01"); }, 10},
      {"does not belong here", [](made_records& m) { return m.record(content{24}, "\x01"); }, 10},
      {"an alert of a wrong length",
       [](made_records& m) { return m.record(content::alert, "\x01"); }, 50},
      {"an alert of a wrong length", [](made_records& m) { return m.record(content::alert, ""); },
       50},
      {"empty part", [](made_records& m) { return m.record(content::handshake, ""); }, 10},
      {"other than KeyUpdate",  // a ClientHello
       [](made_records& m) { return m.record(content::handshake, "\x01"); }, 10},
      {"other than KeyUpdate",  // a Certificate
       [](made_records& m) { return m.record(content::handshake, "\x0b"); }, 10},
      {"wrong length",
       [](made_records& m) {
         return m.record(content::handshake, std::string_view("\x18\x00\x00\x02\x00\x00", 6));
       },
       50},
      {"something unknown",
       [](made_records& m) { return m.record(content::handshake, key_update_message(2)); }, 47},
      {"bytes behind a KeyUpdate",
       [](made_records& m) {
         return m.record(content::handshake, key_update_message(0) + key_update_message(0));
       },
       10},
      {"within a handshake message",
       [](made_records& m) { return joined({m.record(content::handshake, "\x18"), m.data("x")}); },
       10},
      {"empty_records_max",
       [](made_records& m) {
         std::string all;
         for (int i = 0; i < 33; ++i) all += m.data("", i % 3);
         return all;
       },
       10},
      {"empty_records_max",
       [](made_records& m) {
         std::string all;
         for (int i = 0; i < 33; ++i)
           all += m.record(content::alert, std::string_view("\x01\x5a", 2));
         return all;
       },
       10},
  };
  for (const bad_case& c : cases) {
    for (const std::size_t cut : {1u, 7u, 100'000u}) {
      SCOPED_TRACE(c.why);
      made_records m;
      std::string bytes = m.data("before");
      bytes += c.bytes(m);
      bytes += "behind";
      EXPECT_EQ(open_all(*m.server, bytes, cut), "before");
      EXPECT_NE(m.server->why().text.find(c.why), std::string::npos) << m.server->why().text;
      EXPECT_EQ(m.server->why().code, std::errc::protocol_error);
      EXPECT_EQ(m.alert_sent(), c.alert);
      EXPECT_EQ(m.server->seal(std::span<const byte_view>(), 1), 0u);
      received in;
      EXPECT_EQ(m.server->open(in), step::failed);
    }
  }
}

HEDDLE_TEST(tls_records, "what the rules allow is accepted") {
  for (const suite kind : {suite::aes128_gcm, suite::aes256_gcm, suite::chacha20}) {
    made_records m(default_limits, kind);
    const std::string most(content_bytes_max, 'a');
    EXPECT_TRUE(m.fate(m.data(most)) == most + '|');
    EXPECT_TRUE(m.fate(m.data(most.substr(5), 5)) == most.substr(5) + '|');
    EXPECT_EQ(m.fate(m.data("", 16'384)), "|");
    EXPECT_EQ(m.fate(joined({m.data("a"), m.data("", 3), m.data("b", 100), m.data("c")})), "abc|");
    // 32 empty ones in a row, again and again.
    for (int i = 0; i < 3; ++i) {
      std::string empty;
      for (int k = 0; k < 32; ++k) empty += m.data("");
      EXPECT_EQ(m.fate(empty + m.data("x")), "x|");
    }
    // A KeyUpdate in five records, which no other record interrupts.
    std::string parts;
    for (const char c : key_update_message(0))
      parts += m.record(content::handshake, std::string_view(&c, 1));
    ASSERT_TRUE(m.of_peer.advance());
    EXPECT_EQ(m.fate(parts + m.data("new")), "new|");
    // user_canceled says nothing; close_notify of any level is the end.
    EXPECT_EQ(
        m.fate(joined({m.record(content::alert, std::string_view("\x01\x5a", 2)), m.data("y")})),
        "y|");
    EXPECT_EQ(m.fate(joined(
                  {m.data("z"), m.record(content::alert, std::string_view("\x02\x00", 2)), "?"})),
              "z|");
    EXPECT_TRUE(m.server->out().empty());
  }
}

HEDDLE_TEST(tls_records, "a fatal alert of the peer's is an error with its name, and no answer") {
  made_records m;
  // Level 1 does not make it a warning.
  const std::string text = m.fate(m.record(content::alert, std::string_view("\x01\x30", 2)));
  EXPECT_NE(text.find("unknown ca"), std::string::npos) << text;
  EXPECT_EQ(m.server->why().code, std::errc::permission_denied);
  EXPECT_TRUE(m.server->out().empty());
}

HEDDLE_TEST(tls_records, "an end without close_notify is told from an end") {
  made_records m;
  EXPECT_EQ(m.fate(m.data("text").substr(0, 10)), "|");
  m.server->feed_end();
  received in;
  EXPECT_EQ(m.server->open(in), step::failed);
  EXPECT_EQ(m.server->why().code, std::errc::connection_aborted);
  EXPECT_NE(m.server->why().text.find("close_notify"), std::string::npos);
}

HEDDLE_TEST(tls_records, "more connections than cached contexts exchange records in any order") {
  std::vector<std::unique_ptr<made_records>> all;
  for (int i = 0; i < 300; ++i)
    all.push_back(std::make_unique<made_records>(default_limits, static_cast<suite>(i % 3)));
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      made_records& m = *all[i * 7 % all.size()];
      EXPECT_EQ(m.fate(m.data("up")), "up|");
      EXPECT_EQ(open_all(*m.client, seal_text(*m.server, "down")), "down");
    }
  }
}

}  // namespace
}  // namespace heddle::tls::detail
