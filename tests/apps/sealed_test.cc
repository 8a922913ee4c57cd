// SPDX-License-Identifier: MIT
// apps/sealed as its users meet it: files arrive byte for byte, refusals say why, and clients that
// misbehave trouble nobody else. On every driver.
#include <vector>

#include "heddle/core/sleep.hh"
#include "heddle/io/file.hh"
#include "sealed_world.hh"

using namespace sealed;
using namespace sealed::test;
using namespace std::chrono_literals;
using heddle::as_expected;

namespace {

constexpr std::size_t record = 16 * 1024;
constexpr std::size_t sizes[] = {0,          1,          record - 1, record,
                                 record + 1, 3 * record, 128 * 1024, 500'000};

task<> get_all_sizes(server&, address at) {
  client from(test_key());
  co_await from.connect(at);
  for (const std::size_t size : sizes) {
    const std::uint64_t told = co_await from.ask(std::to_string(size));
    EXPECT_EQ(told, size);
    std::string all;
    for (;;) {
      const std::string_view part = co_await from.next();
      if (part.empty()) break;
      all += part;
    }
    EXPECT_TRUE(all == sample(size)) << "of " << size << " bytes";
  }
}

void round_trips(const heddle::test::driver_maker& make, cipher algorithm) {
  sealed_world world(make);
  for (const std::size_t size : sizes) world.plant(std::to_string(size), sample(size));
  server_options o;
  o.records.algorithm = algorithm;
  world.run(get_all_sizes, o);
}

}  // namespace

DRIVER_TEST(sealed, "files of many sizes come byte for byte, one after another, by AES-256-GCM") {
  round_trips(make, cipher::aes_256_gcm);
}

DRIVER_TEST(sealed, "the same by ChaCha20-Poly1305") {
  round_trips(make, cipher::chacha20_poly1305);
}

DRIVER_TEST(sealed, "records may be small or large") {
  for (const std::size_t size : {record_bytes_min, std::size_t{1000}, record_bytes_max}) {
    sealed_world world(make);
    world.plant("a", sample(100'000));
    server_options o;
    o.records.record_bytes = size;
    world.run(
        [](server&, address at) -> task<> {
          const std::string got = co_await get(at, "a");
          EXPECT_TRUE(got == sample(100'000));
        },
        o);
  }
}

DRIVER_TEST(sealed, "a client with another key gets nothing, and is told what to look at") {
  sealed_world world(make);
  world.plant("a", "hello");
  world.run([](server& files, address at) -> task<> {
    const std::string why = co_await why_not(at, "a", "", test_key('8'));
    EXPECT_NE(why.find("same key"), why.npos) << why;
    EXPECT_EQ(files.counters().failures, 1u);
    EXPECT_EQ(files.counters().bytes, 0u);
  });
}

DRIVER_TEST(sealed,
            "what is not there or not beneath the root is refused, and the session goes on") {
  sealed_world world(make);
  world.plant("a", "hello");
  world.plant_at("outside", "secret");
  world.make_folder("public/folder");
  world.make_link("leads_out", "../outside");
  const std::string outside = world.folder() / "public/../outside";
  world.run([outside](server& files, address at) -> task<> {
    const std::string there = co_await heddle::read_file(outside);
    EXPECT_EQ(there, "secret");
    client from(test_key());
    co_await from.connect(at);
    const std::string names[] = {
        "missing", "../outside",           "/etc/passwd",         "folder", "leads_out", "",
        "a/b",     "folder/../../outside", std::string("a\0b", 3)};
    for (const std::string& name : names) {
      std::string why;
      try {
        co_await from.ask(name);
      } catch (const refusal& r) {
        why = r.what();
      }
      EXPECT_NE(why.find(name.find('\0') == name.npos && !name.empty() ? "there is no such file"
                                                                       : "no name of a file"),
                why.npos)
          << name << ": " << why;
    }
    EXPECT_EQ(files.counters().refusals, std::size(names));
    const std::uint64_t size = co_await from.ask("a");
    EXPECT_EQ(size, 5u);
    const std::string_view part = co_await from.next();
    EXPECT_EQ(part, "hello");
  });
}

DRIVER_TEST(sealed, "a client that goes away in the middle of a file ends its own session only") {
  sealed_world world(make);
  world.plant("big", sample(20'000'000));
  world.plant("a", "hello");
  world.run([](server& files, address at) -> task<> {
    {
      client from(test_key());
      co_await from.connect(at);
      co_await from.ask("big");
      const std::string_view part = co_await from.next();
      EXPECT_EQ(part.size(), record);
    }
    const std::string got = co_await get(at, "a");
    EXPECT_EQ(got, "hello");
    co_await sessions_to_end(files);
    EXPECT_EQ(files.counters().failures, 1u);
    EXPECT_EQ(files.counters().files, 1u);
  });
}

DRIVER_TEST(sealed, "many clients at once share one reading of the file") {
  sealed_world world(make);
  world.plant("a", sample(200'000));
  world.run([](server& files, address at) -> task<> {
    scope s;
    std::string why[40];
    for (std::string& one : why)
      s.spawn([](std::string& out,
                 address to) -> task<> { out = co_await why_not(to, "a", sample(200'000)); },
              std::ref(one), at);
    co_await s.join();
    for (const std::string& one : why) EXPECT_EQ(one, "");
    co_await sessions_to_end(files);
    EXPECT_EQ(files.counters().files, 40u);
    EXPECT_EQ(files.counters().bytes, 40u * 200'000);
    EXPECT_EQ(files.cache().loads(), 1u);
  });
}

DRIVER_TEST(sealed, "what a client writes down is the whole file, or nothing") {
  sealed_world world(make);
  world.plant("a", sample(100'000));
  const std::string target = world.folder() / "copy";
  world.run([target](server&, address at) -> task<> {
    client from(test_key());
    co_await from.connect(at);
    const std::uint64_t size = co_await fetch(from, "a", target);
    EXPECT_EQ(size, 100'000u);
    const std::string copy = co_await heddle::read_file(target);
    EXPECT_TRUE(copy == sample(100'000));

    tcp_listener door = tcp_listener::listen(address::loopback(0));
    scope s;
    std::size_t up = 0;
    std::size_t down = 0;
    s.spawn(in_the_middle(door, at, {}, {.cut_at = 60'000}, up, down));
    client cut(test_key());
    co_await cut.connect(door.local());
    std::string why;
    try {
      co_await fetch(cut, "a", target + "2");
    } catch (const trouble& t) {
      why = t.what();
    }
    EXPECT_NE(why.find("ends within a record"), why.npos) << why;
    for (const char* left : {"2", "2.partial"}) {
      const auto there = co_await as_expected(heddle::read_file(target + left));
      EXPECT_FALSE(there.has_value()) << left;
    }
    s.cancel();
    static_cast<void>(co_await as_expected(s.join()));
  });
}

DRIVER_TEST(sealed, "no more connections than allowed are open; more wait for their turn") {
  sealed_world world(make);
  world.plant("a", sample(50'000));
  server_options o;
  o.connections_max = 2;
  world.run(
      [](server& files, address at) -> task<> {
        scope s;
        std::string why[20];
        for (std::string& one : why)
          s.spawn([](std::string& out,
                     address to) -> task<> { out = co_await why_not(to, "a", sample(50'000)); },
                  std::ref(one), at);
        co_await s.join();
        for (const std::string& one : why) EXPECT_EQ(one, "");
        EXPECT_EQ(files.counters().connections, 20u);
        EXPECT_EQ(files.counters().open_max, 2u);
      },
      o);
}

HEDDLE_TEST(sealed, "options that cannot work are refused with the option's name") {
  sealed_world world(std::make_unique<heddle::sim_driver>());
  const auto refused = [&](server_options o) {
    try {
      world.run([](server&, address) -> task<> { co_return; }, o);
    } catch (const trouble& t) {
      return std::string(t.what());
    }
    return std::string();
  };
  server_options o;
  o.records.record_bytes = 10;
  EXPECT_NE(refused(o).find("--record"), std::string::npos);
  o.records.record_bytes = record_bytes_max + 1;
  EXPECT_NE(refused(o).find("--record"), std::string::npos);
  o = {};
  o.connections_max = 0;
  EXPECT_NE(refused(o).find("--connections"), std::string::npos);
}
