// SPDX-License-Identifier: MIT
// The texts of the machine's files, and messages with every kind of damage.
#include <gtest/gtest.h>

#include "names/message.hh"
#include "names/name.hh"
#include "names/name_server.hh"
#include "names/system_files.hh"
#if HEDDLE_WITH_CARES
#include <ares.h>

#include <cstdlib>
#endif

namespace heddle::test {
namespace {

using namespace std::chrono_literals;
namespace inside = names::detail;

HEDDLE_TEST(names_texts, "resolv.conf: servers, search list and options; other lines are noted") {
  inside::ignored_lines ignored;
  const inside::resolv_conf c = inside::read_resolv_conf(
      "# comment\n"
      "nameserver 192.0.2.53   ; the first\n"
      "nameserver\t2001:db8::53\n"
      "nameserver fe80::1%2\n"
      "nameserver eight.example.org\n"
      "nameserver 192.0.2.54\n"
      "domain old.test\n"
      "search A.test b.test. . c..test\n"
      "options ndots:3 attempts:0 timeout:99 rotate use-vc ndots:x edns0\n"
      "sortlist 130.155.160.0\n",
      "/etc/resolv.conf", 3, 4, ignored);
  ASSERT_EQ(c.servers.size(), 3u);
  EXPECT_EQ(c.servers[0].to_string(), "192.0.2.53:53");
  EXPECT_EQ(c.servers[1].to_string(), "[2001:db8::53]:53");
  EXPECT_EQ(c.servers[2].to_string(), "[fe80::1%2]:53");
  EXPECT_EQ(c.search, (std::vector<std::string>{"a.test", "b.test"}));
  EXPECT_EQ(c.ndots, 3u);
  EXPECT_EQ(c.tries, 1u);
  EXPECT_EQ(c.timeout, nanoseconds(30s));
  EXPECT_TRUE(c.rotate);
  EXPECT_TRUE(c.tcp_only);
  EXPECT_EQ(ignored.count, 3u);
  EXPECT_EQ(ignored.first, "/etc/resolv.conf:5: nameserver wants an address");
}

HEDDLE_TEST(names_texts, "hosts: names in any case, several lines for one, in their order") {
  inside::ignored_lines ignored;
  const auto t = inside::read_hosts(
      "127.0.0.1 localhost\n\n::1 localhost ip6-localhost\n 192.0.2.1\tA.test a # b\n"
      "192.0.2.2 a\n192.0.2.1 a\nnonsense a\n192.0.2.3:80 a\n192.0.2.4 a/b c",
      "hosts", ignored);
  ASSERT_EQ(t.at("localhost").size(), 2u);
  EXPECT_EQ(t.at("localhost")[1].to_string(), "[::1]:0");
  ASSERT_EQ(t.at("a").size(), 2u);
  EXPECT_EQ(t.at("a")[0].host(), "192.0.2.1");
  EXPECT_EQ(t.at("a")[1].host(), "192.0.2.2");
  EXPECT_EQ(t.at("c")[0].host(), "192.0.2.4");
  EXPECT_EQ(t.count("b"), 0u);
  EXPECT_EQ(ignored.count, 3u);
  EXPECT_EQ(ignored.first, "hosts:7: the line begins with no address");
}

HEDDLE_TEST(names_texts, "nsswitch.conf: a source that only the system has") {
  EXPECT_EQ(inside::foreign_source("passwd: files ldap\nhosts: files dns\n"), "");
  EXPECT_EQ(inside::foreign_source("hosts:\tfiles resolve [!UNAVAIL=return] dns # mdns\n"), "");
  EXPECT_EQ(inside::foreign_source("hosts: files [ NOTFOUND = return ] wins dns"), "wins");
  EXPECT_EQ(inside::foreign_source("hosts: mdns dns myhostname"), "mdns");
}

HEDDLE_TEST(names_texts, "full names for a short one: search list before or after, none too long") {
  const std::vector<std::string> search{"a.test", std::string(240, 'x')};
  using list = std::vector<std::string>;
  EXPECT_EQ(inside::candidates("Web", search, 1)[0], "web.a.test");
  EXPECT_EQ(inside::candidates("Web", search, 1).back(), "web");
  EXPECT_EQ(inside::candidates("a.long.name.here", search, 1),
            (list{"a.long.name.here", "a.long.name.here.a.test"}));
  EXPECT_EQ(inside::candidates("x.y", {"a.test"}, 2), (list{"x.y.a.test", "x.y"}));
  EXPECT_EQ(inside::candidates("x.y.", {"a.test"}, 2), (list{"x.y"}));
  EXPECT_EQ(inside::candidates("127.1", {"a.test"}, 1), (list{"127.1.a.test"}));
  EXPECT_EQ(inside::candidates("1", {}, 1), list{});
  EXPECT_EQ(inside::candidates("127.1.", {}, 1), list{});
}

#if HEDDLE_WITH_CARES

std::span<const std::byte> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// A question for a.test, as a server would get it.
asked_name sample(const inside::question& q) {
  const auto wire = inside::write_question(q, 1232);
  asked_name got;
  got.bytes.assign(reinterpret_cast<const char*>(wire.data()), wire.size());
  got.name = q.name;
  got.type = static_cast<unsigned>(q.type);
  return got;
}

inside::reply::kind kind_of(const std::string& bytes, const inside::question& q) {
  return inside::read_reply(bytes_of(bytes), q, {}).is;
}

HEDDLE_TEST(names_texts, "a question has its id, one name, and the size of EDNS") {
  const asked_name got = sample({"a.test", inside::record_type::aaaa, 0x1234});
  EXPECT_EQ(got.bytes, number_bytes(0x12340100, 4) + number_bytes(1, 2) + number_bytes(0, 4) +
                           number_bytes(1, 2) + name_bytes("a.test") + number_bytes(28, 2) +
                           number_bytes(1, 2) + std::string(1, '\0') + number_bytes(41, 2) +
                           number_bytes(1232, 2) + std::string(6, '\0'));
}

HEDDLE_TEST(names_texts, "a message that is cut anywhere gives no address, and is no crash") {
  using kind = inside::reply::kind;
  const inside::question q{"a.test", inside::record_type::a, 7};
  const std::string whole =
      made_answer(sample(q)).cname("a.test", 9, "b.test").a("b.test", 9, "192.0.2.1").bytes();
  EXPECT_EQ(kind_of(whole, q), kind::addresses);
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const std::string cut = whole.substr(0, n);
    const std::vector<char> alone(cut.begin(), cut.end());  // so that ASan sees its end
    const auto got =
        inside::read_reply({reinterpret_cast<const std::byte*>(alone.data()), alone.size()}, q, {});
    EXPECT_EQ(got.is, n < 12 + 8 + 4 ? kind::mismatch : kind::damaged) << n;
  }
  const std::string denial = made_answer(sample(q)).code(3).soa(60, 60).bytes();
  EXPECT_EQ(kind_of(denial, q), kind::no_such_name);
  for (std::size_t n = 24; n < denial.size(); ++n)
    EXPECT_EQ(kind_of(denial.substr(0, n), q), kind::damaged) << n;
}

HEDDLE_TEST(names_texts, "records that break the rules make an answer damaged") {
  using kind = inside::reply::kind;
  const inside::question q{"a.test", inside::record_type::a, 7};
  const asked_name to = sample(q);
  const std::string damaged[] = {
      made_answer(to).record("a.test", 1, 9, "123").bytes(),
      made_answer(to).record("a.test", 5, 9, std::string("\xc0\xff", 2)).bytes(),
      made_answer(to).record("a.test", 5, 9, std::string("\xc0\x1e", 2)).bytes(),  // itself
      made_answer(to).record("a.test", 5, 9, name_bytes("b.test") + "x").bytes(),
      made_answer(to).record("a.test", 5, 9, std::string(1, '\0')).bytes(),
      made_answer(to).cname("a.test", 9, "a.test").bytes(),
      made_answer(to).code(3).record("a.test", 6, 9, "short").bytes().replace(6, 4, "\0\0\0\1", 4),
  };
  for (const std::string& each : damaged)
    EXPECT_EQ(kind_of(each, q), kind::damaged) << (&each - damaged);
  made_answer chain(to);
  for (int i = 0; i < 16; ++i)
    chain.cname(i == 0 ? "a.test" : "n" + std::to_string(i), 9, "n" + std::to_string(i + 1));
  EXPECT_EQ(kind_of(made_answer(chain).a("n16", 9, "192.0.2.1").bytes(), q), kind::addresses);
  chain.cname("n16", 9, "n17").a("n17", 9, "192.0.2.1");
  EXPECT_EQ(kind_of(chain.bytes(), q), kind::damaged);
}

// c-ares' memory, of which the allocation with this number fails; negative: none.
long memory_left = -1;
bool spend_memory() {
  if (memory_left < 0) return true;
  if (memory_left == 0) return false;
  --memory_left;
  return true;
}

HEDDLE_TEST(names_texts, "a failed allocation inside c-ares ends the question, and nothing leaks") {
  ASSERT_EQ(
      ::ares_library_init_mem(
          ARES_LIB_INIT_ALL,
          [](std::size_t n) { return spend_memory() ? std::malloc(n) : nullptr; }, &std::free,
          [](void* p, std::size_t n) { return spend_memory() ? std::realloc(p, n) : nullptr; }),
      ARES_SUCCESS);
  long failures = 0;
  for (long at = 0; at < 100; ++at) {
    auto world = std::make_unique<sim_driver>();
    const sim_driver& sim = *world;
    runtime rt(std::move(world), {});
    bool found = false, out_of_memory = false;
    rt.run(with_name_server(usual, [&](name_server& server) -> task<> {
      names::resolver r(asking({server.at()}));
      memory_left = at;
      try {
        const names::outcome got = co_await r.try_lookup("a.test");
        found = got.has_value();
      } catch (const std::bad_alloc&) {
        out_of_memory = true;
      }
      memory_left = -1;
      EXPECT_TRUE(co_await r.try_lookup("a.test")) << at;  // nothing of it stays
    }));
    EXPECT_EQ(rt.drain(), 0u);
    EXPECT_EQ(sim.open_descriptors(), 0u);
    EXPECT_TRUE(found || out_of_memory);
    failures += out_of_memory ? 1 : 0;
    if (!out_of_memory && at > 20) break;
  }
  EXPECT_GE(failures, 5);
  ::ares_library_cleanup();
}

#endif

}  // namespace
}  // namespace heddle::test
