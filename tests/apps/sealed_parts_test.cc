// SPDX-License-Identifier: MIT
// The parts of apps/sealed: key files, records, keys as docs/reference/sealed.md specifies them,
// and the cache.
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "heddle/core/deadline.hh"
#include "heddle/core/yield.hh"
#include "sealed_world.hh"

using namespace sealed;
using namespace sealed::test;
using namespace std::chrono_literals;

namespace {

template <class F>
std::string words_of(F&& f) {
  try {
    f();
  } catch (const trouble& t) {
    return t.what();
  }
  return {};
}

direction_secret some_secret() {
  direction_secret s;
  s.key.fill(1);
  s.nonce.fill(2);
  return s;
}

std::string sealed_text(record_sealer& by, std::string_view text) {
  std::string out(text.size() + record_overhead, '\0');
  by.seal(record_type::data, text, out);
  return out;
}

bool opens(record_opener& by, std::string record) {
  return by.open({record.data(), header_bytes},
                 {record.data() + header_bytes, record.size() - header_bytes});
}

std::string hmac(std::string_view key, std::string_view text) {
  unsigned char out[32];
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), out, &size);
  return {reinterpret_cast<char*>(out), size};
}

template <std::size_t N>
std::string text_of(const secret_bytes<N>& bytes) {
  return {bytes.begin(), bytes.end()};
}

/// Runs in a simulated world with files, without a server.
void with_cache(cache_limits limits, sealed_world& world,
                std::function<task<>(file_cache&, sealed_world&)> body) {
  world.rt().run([](std::string path, cache_limits most, sealed_world& w, auto f) -> task<> {
    file_cache cache(co_await heddle::open_directory(path), most);
    co_await f(cache, w);
  }(world.folder() / "public", limits, world, std::move(body)));
}

task<std::string> reason(file_cache& from, std::string name) {
  std::string why;
  try {
    const content c = co_await from.get(name);
  } catch (const refusal& r) {
    why = r.what();
  }
  co_return why;
}

}  // namespace

HEDDLE_TEST(sealed, "a key file is 64 hexadecimal digits, and a bad one is named") {
  sealed_world world(std::make_unique<heddle::sim_driver>());
  const std::string fresh = make_key_text();
  EXPECT_EQ(fresh.size(), 65u);
  EXPECT_NE(fresh, make_key_text());
  EXPECT_EQ(text_of(parse_key("0aF" + std::string(61, '1') + " \n", "f")).substr(0, 2), "\x0a\xf1");
  for (const std::string& bad : {std::string(), std::string(63, 'a'), std::string(65, 'a'),
                                 std::string(64, 'g'), " " + std::string(63, 'a')})
    EXPECT_NE(words_of([&] {
                static_cast<void>(parse_key(bad, "shared.key"));
              }).find("shared.key: a key is 64"),
              std::string::npos);
}

HEDDLE_TEST(sealed, "a record opens once, in its place, in its direction") {
  for (const cipher c : {cipher::aes_256_gcm, cipher::chacha20_poly1305}) {
    record_sealer sealer(c, some_secret());
    const std::string first = sealed_text(sealer, "same");
    const std::string second = sealed_text(sealer, "same");
    EXPECT_NE(first, second);
    record_opener in_order(c, some_secret());
    EXPECT_TRUE(opens(in_order, first));
    EXPECT_TRUE(opens(in_order, second));
    record_opener swapped(c, some_secret());
    EXPECT_FALSE(opens(swapped, second));
    record_opener replayed(c, some_secret());
    EXPECT_TRUE(opens(replayed, first));
    EXPECT_FALSE(opens(replayed, first));
    record_opener skipping(c, some_secret());
    skipping.skip(1);
    EXPECT_TRUE(opens(skipping, second));
    direction_secret other = some_secret();
    other.nonce[0] ^= 1;
    record_opener elsewhere(c, other);
    EXPECT_FALSE(opens(elsewhere, first));
    std::string relabelled = first;
    relabelled[0] = static_cast<char>(record_type::answer);
    record_opener labels(c, some_secret());
    EXPECT_FALSE(opens(labels, relabelled));
  }
}

HEDDLE_TEST(sealed, "numbers of records run out before one comes twice") {
  record_opener at_the_end(cipher::aes_256_gcm, some_secret());
  at_the_end.skip(std::uint64_t{1} << 32);
  EXPECT_NE(words_of([&] {
              static_cast<void>(opens(at_the_end, std::string(20, 'x')));
            }).find("connect again"),
            std::string::npos);
}

HEDDLE_TEST(sealed,
            "both sides have the keys that the page says, and no byte of a greeting is free") {
  sealed_world world(std::make_unique<heddle::sim_driver>());
  const key_pair client_pair;
  const key_pair server_pair;
  const client_greeting c = greet_server(client_pair);
  const server_greeting s = greet_client(server_pair, {});
  const session_secrets here = secrets_of_client(client_pair, test_key(), c, s);
  const session_secrets there = secrets_of_server(server_pair, test_key(), c, s);
  EXPECT_EQ(text_of(here.from_client.key), text_of(there.from_client.key));
  EXPECT_EQ(text_of(here.from_server.nonce), text_of(there.from_server.nonce));
  EXPECT_NE(text_of(here.from_client.key), text_of(here.from_server.key));

  const auto server_public = server_pair.public_key();
  const std::string extracted =
      hmac(text_of(test_key()), text_of(client_pair.agree(server_public.data())));
  const std::string label =
      "sealed 1" + std::string(c.begin(), c.end()) + std::string(s.begin(), s.end());
  std::string expanded;
  std::string block;
  for (char n = 1; n <= 3; ++n) expanded += block = hmac(extracted, block + label + n);
  EXPECT_EQ(text_of(here.from_client.key) + text_of(here.from_client.nonce) +
                text_of(here.from_server.key) + text_of(here.from_server.nonce),
            expanded.substr(0, 88));

  server_greeting smaller_records = s;
  smaller_records[10] ^= 1;
  const session_secrets fooled = secrets_of_client(client_pair, test_key(), c, smaller_records);
  EXPECT_NE(text_of(fooled.from_server.key), text_of(here.from_server.key));
}

HEDDLE_TEST(sealed, "a file that changes on disk is sent anew; one that stays is read once") {
  sealed_world world(std::make_unique<heddle::sim_driver>());
  world.plant("a", "one");
  with_cache({}, world, [](file_cache& cache, sealed_world& w) -> task<> {
    const content first = co_await cache.get("a");
    const content again = co_await cache.get("a");
    EXPECT_EQ(first, again);
    EXPECT_EQ(cache.loads(), 1u);
    w.plant("a", "twice");
    const content second = co_await cache.get("a");
    EXPECT_EQ(*first, "one");
    EXPECT_EQ(*second, "twice");
    EXPECT_EQ(cache.bytes(), 8u);  // the old one is still in somebody's hands
  });
}

HEDDLE_TEST(sealed, "the cache forgets what nobody sends, and refuses when all is being sent") {
  sealed_world world(std::make_unique<heddle::sim_driver>());
  for (const char* name : {"a", "b", "c"}) world.plant(name, sample(40));
  world.plant("large", sample(101));
  with_cache({.bytes_max = 100}, world, [](file_cache& cache, sealed_world&) -> task<> {
    content a = co_await cache.get("a");
    content b = co_await cache.get("b");
    const std::string full = co_await reason(cache, "c");
    EXPECT_NE(full.find("ask again later"), full.npos) << full;
    a.reset();
    const content c = co_await cache.get("c");
    EXPECT_EQ(c->size(), 40u);
    EXPECT_EQ(cache.bytes(), 80u);
    b.reset();
    const content a_again = co_await cache.get("a");
    EXPECT_EQ(cache.loads(), 4u);
    const std::string large = co_await reason(cache, "large");
    EXPECT_NE(large.find("--cache"), large.npos) << large;
    EXPECT_EQ(cache.bytes(), 80u);
  });
}

HEDDLE_TEST(sealed, "who waits for a reading that is given up reads himself") {
  sealed_world world(std::make_unique<heddle::sim_driver>());
  world.plant("a", sample(1000));
  with_cache({}, world, [](file_cache& cache, sealed_world& w) -> task<> {
    heddle::sim_rates slow;
    slow.delayed = 1;
    w.sim()->set_faults(heddle::op_code::read, slow);
    scope first;
    first.spawn(reason(cache, "a"));
    while (cache.loads() == 0) co_await heddle::yield();
    scope others;
    std::size_t got[10] = {};
    for (std::size_t& size : got)
      others.spawn(
          [](file_cache& from, std::size_t& out) -> task<> {
            const content c = co_await from.get("a");
            out = c->size();
          },
          std::ref(cache), std::ref(size));
    co_await heddle::sleep_for(1ms);
    first.cancel();
    static_cast<void>(co_await heddle::as_expected(first.join()));
    co_await others.join();
    for (const std::size_t size : got) EXPECT_EQ(size, 1000u);
    EXPECT_EQ(cache.loads(), 2u);
    EXPECT_EQ(cache.bytes(), 1000u);
  });
}
