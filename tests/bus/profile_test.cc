// SPDX-License-Identifier: MIT
// What a profile records, that it adds up over runs, and that its reader refuses what the writer
// would not have written.
#include "heddle/bus/profile.hh"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "heddle/bus/bus.hh"
#include "support/test.hh"
#include "support/tree.hh"
#include "support/virtual_runtime.hh"

namespace {

using namespace heddle;
using namespace std::chrono_literals;

struct outer : topic<int> {};
struct inner : haltable_topic<> {};
struct later : topic<> {};

/// A file that goes with the test.
struct file {
  file() : path(::testing::TempDir() + "bus_profile_" + std::to_string(::getpid())) { drop(); }
  ~file() { drop(); }
  void drop() const { std::filesystem::remove(path); }
  [[nodiscard]] std::string text() const {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& text) const { std::ofstream(path) << text; }
  std::string path;
};

void handler_a(int) {}
flow handler_b() { return flow::halt; }

/// Raises outer `times` times: each runs handler_a and one that raises inner and posts later.
void run_program(const std::string& path, int times) {
  test::virtual_runtime v;
  bus b({.profile = path});
  b.bind<outer, &handler_a>(1);
  b.bind<outer>(
      [&b](int) {
        b.raise<inner>();
        b.post<later>();
      },
      2);
  b.bind<inner, &handler_b>(1);
  b.bind<inner>([] { ADD_FAILURE() << "halted before"; }, 2);
  b.bind<later>([] {});
  for (int i = 0; i < times; ++i) b.raise<outer>(i);
  v.rt.run();
}

const profile_topic& topic_named(const profile_data& p, const std::string& part) {
  for (const profile_topic& t : p.topics)
    if (t.name.find(part) != std::string::npos) return t;
  ADD_FAILURE() << "no topic " << part;
  return p.topics.front();
}

std::uint64_t edge_count(const profile_data& p, edge_kind kind, const char* from, const char* to) {
  std::uint64_t count = 0;
  for (const profile_edge& e : p.edges) {
    const bool starts = e.from_topic == profile_edge::none
                            ? *from == '\0'
                            : p.topics[e.from_topic].name.find(from) != std::string::npos;
    if (e.kind == kind && starts && p.topics[e.to_topic].name.find(to) != std::string::npos)
      count += e.count;
  }
  return count;
}

HEDDLE_TEST(profile, "raises, sequences, and who raised what are counted") {
  const file f;
  run_program(f.path, 5);
  const profile_data p = read_profile(f.path);
  EXPECT_EQ(p.compiler, detail::compiler_name);
  ASSERT_EQ(p.topics.size(), 3u);
  const profile_topic& t = topic_named(p, "outer");
  EXPECT_EQ(t.raises, 5u);
  EXPECT_FALSE(t.haltable);
  EXPECT_TRUE(topic_named(p, "inner").haltable);
  ASSERT_EQ(t.sequences.size(), 1u);
  EXPECT_EQ(t.sequences[0].count, 5u);
  ASSERT_EQ(t.sequences[0].handlers.size(), 2u);
  const profile_handler& first = p.handlers[t.sequences[0].handlers[0]];
  EXPECT_NE(first.name.find("handler_a"), std::string::npos) << first.name;
  EXPECT_EQ(first.calls, 5u);
  EXPECT_GE(t.ns, first.ns);
  EXPECT_EQ(edge_count(p, edge_kind::nested, "outer", "inner"), 5u);
  EXPECT_EQ(edge_count(p, edge_kind::posted, "outer", "later"), 5u);
  EXPECT_EQ(edge_count(p, edge_kind::follows, "outer", "inner"), 5u);
  EXPECT_EQ(edge_count(p, edge_kind::follows, "inner", "outer"), 4u);
  EXPECT_EQ(edge_count(p, edge_kind::nested, "outer", "later"), 0u);
  EXPECT_EQ(p.dropped, 0u);
  EXPECT_EQ(f.text().find(heddle::test::source_dir()), std::string::npos)
      << "a path of this machine";
}

HEDDLE_TEST(profile, "runs add up, and the environment names the file too") {
  const file f;
  run_program(f.path, 2);
  ::setenv("HEDDLE_PROFILE", f.path.c_str(), 1);
  run_program("", 3);
  ::unsetenv("HEDDLE_PROFILE");
  run_program("", 100);
  const profile_data p = read_profile(f.path);
  EXPECT_EQ(p.topics.size(), 3u);
  EXPECT_EQ(topic_named(p, "outer").raises, 5u);
  EXPECT_EQ(topic_named(p, "outer").sequences.at(0).count, 5u);
  EXPECT_EQ(edge_count(p, edge_kind::nested, "outer", "inner"), 5u);
}

HEDDLE_TEST(profile, "a changed binding is another sequence of the topic") {
  const file f;
  {
    bus b({.profile = f.path});
    b.bind<outer, &handler_a>();
    b.raise<outer>(1);
    const binding n = b.bind<outer>([](int) {});
    b.raise<outer>(2);
    b.raise<outer>(3);
    b.unbind(n);
    b.raise<outer>(4);
  }
  const profile_data p = read_profile(f.path);
  const profile_topic& t = topic_named(p, "outer");
  ASSERT_EQ(t.sequences.size(), 2u);
  EXPECT_EQ(t.sequences[0].count, 2u);
  EXPECT_EQ(t.sequences[1].count, 2u);
}

HEDDLE_TEST(profile, "lambdas of one function are told apart") {
  const file f;
  {
    bus b({.profile = f.path});
    b.bind<outer>([](int) {});
    b.bind<outer>([](int) {});
    b.raise<outer>(1);
  }
  const profile_data p = read_profile(f.path);
  ASSERT_EQ(p.handlers.size(), 2u);
  EXPECT_NE(std::pair(p.handlers[0].hash, p.handlers[0].occurrence),
            std::pair(p.handlers[1].hash, p.handlers[1].occurrence));
}

HEDDLE_TEST(profile, "more sequences than the limit are counted as dropped") {
  const file f;
  {
    bus b({.profile = f.path});
    for (int i = 0; i < 20; ++i) {
      b.bind<outer, &handler_a>();
      b.raise<outer>(i);
    }
  }
  const profile_data p = read_profile(f.path);
  EXPECT_EQ(topic_named(p, "outer").sequences.size(), profile_limits().sequences_max);
  EXPECT_EQ(topic_named(p, "outer").raises, 20u);
  EXPECT_EQ(p.dropped, 4u);
}

HEDDLE_TEST(profile, "a recorded raise that throws leaves the record in order") {
  const file f;
  {
    bus b({.profile = f.path});
    b.bind<outer>([](int n) {
      if (n == 1) throw std::runtime_error("no");
    });
    b.bind<later>([&b] { EXPECT_THROW(b.raise<outer>(1), std::runtime_error); });
    b.raise<later>();
    b.raise<outer>(2);
  }
  const profile_data p = read_profile(f.path);
  EXPECT_EQ(topic_named(p, "outer").raises, 2u);
  EXPECT_EQ(edge_count(p, edge_kind::nested, "later", "outer"), 1u);
}

HEDDLE_TEST(profile, "a file that is no profile is left alone, and named") {
  const file f;
  f.write("my only copy\n");
  try {
    bus b({.profile = f.path});
    ADD_FAILURE() << "accepted it";
  } catch (const failure& e) {
    EXPECT_NE(std::string(e.what()).find(f.path + ":1: not a profile"), std::string::npos)
        << e.what();
  }
  EXPECT_EQ(f.text(), "my only copy\n");
  EXPECT_THROW(bus({.profile = "/"}), failure);
  EXPECT_THROW(bus({.profile = f.path + "/in/no/folder"}), failure);
}

/// Runs a program of two buses with HEDDLE_PROFILE=PATH, and ends with what its handlers counted.
[[noreturn]] void exit_with_count(const std::string& path) {
  ::setenv("HEDDLE_PROFILE", path.c_str(), 1);
  int raised = 0;
  {
    bus first;
    bus second;
    first.bind<later>([&raised] { ++raised; });
    second.bind<later>([&raised] { ++raised; });
    first.raise<later>();
    second.raise<later>();
  }
  std::exit(raised);
}

HEDDLE_TEST(profile,
            "a program whose HEDDLE_PROFILE is of no use says so in one line and goes on") {
  const file f;
  f.write("my only copy\n");
  const auto two = ::testing::ExitedWithCode(2);
  EXPECT_EXIT(exit_with_count(f.path), two,
              "^heddle: no profile of this run: [^\n]*:1: not a profile[^\n]*\n$");
  EXPECT_EQ(f.text(), "my only copy\n");
  EXPECT_EXIT(exit_with_count("/"), two, "^heddle: no profile of this run: /: [^\n]*\n$");
  EXPECT_EXIT(exit_with_count(f.path + "/in/no/folder"), two,
              "^heddle: no profile of this run: [^\n]*/in/no/folder: [^\n]*\n$");
}

HEDDLE_TEST(profile, "a file that was damaged while the program ran is left alone, and named") {
  const file f;
  ::testing::internal::CaptureStderr();
  {
    bus b({.profile = f.path});
    b.bind<later>([] {});
    b.raise<later>();
    f.write("damaged\n");
  }
  const std::string told = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("profile of this run is lost"), std::string::npos) << told;
  EXPECT_NE(told.find(f.path + ":1: not a profile"), std::string::npos) << told;
  EXPECT_EQ(f.text(), "damaged\n");
}

HEDDLE_TEST(profile, "a file is found where it was named, whatever the directory is at the end") {
  const file f;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(std::filesystem::path(f.path).parent_path());
  {
    bus b({.profile = std::filesystem::path(f.path).filename()});
    b.bind<later>([] {});
    b.raise<later>();
    std::filesystem::current_path(before);
  }
  EXPECT_EQ(topic_named(read_profile(f.path), "later").raises, 1u);
}

/// Topics that are made while the program runs, each with the handler of its number.
struct made_topics {
  explicit made_topics(detail::recorder& to, std::size_t count)
      : topics(count), handlers(count), records(count) {
    for (std::size_t i = 0; i < count; ++i) {
      topics[i] = {i + 1, "a topic", false};
      handlers[i] = {i + 1, 0, "a handler"};
      records[i].topic = &topics[i];
      records[i].calls.compiler = detail::compiler_name;
      records[i].recording = &to;
      records[i].infos.resize(1);
      records[i].infos[0].handler = &handlers[i];
      records[i].infos[0].serial = 1;
    }
  }
  std::vector<detail::topic_info> topics;
  std::vector<detail::handler_info> handlers;
  std::vector<detail::topic_record> records;
};

HEDDLE_TEST(profile, "what topics beyond the limit raise and post is counted as dropped") {
  const file f;
  const std::size_t limit = profile_limits().topics_max;
  detail::recorder kept(nullptr);
  kept.profile_into(f.path);
  made_topics made(kept, limit + 1);
  for (std::size_t i = 0; i < limit; ++i) {
    detail::recorded_raise raise(made.records[i]);
    raise.before(0);
    raise.after(0);
  }
  {
    detail::recorded_raise beyond(made.records[limit]);
    beyond.before(0);
    kept.asked_for(made.records[0], nanoseconds::zero());
    const detail::recorded_raise nested(made.records[0]);
  }
  kept.finish_profile();
  const profile_data p = read_profile(f.path);  // its own reader takes it
  EXPECT_EQ(p.topics.size(), limit);
  EXPECT_EQ(p.dropped, 3u);
  EXPECT_TRUE(std::ranges::all_of(
      p.edges, [](const profile_edge& e) { return e.kind == edge_kind::follows; }));
}

HEDDLE_TEST(profile, "two files' handlers of one name are recorded as two that builds confuse") {
  const file f;
  detail::recorder kept(nullptr);
  kept.profile_into(f.path);
  made_topics made(kept, 3);
  made.handlers[1].hash = made.handlers[0].hash;
  made.handlers[2].hash = made.handlers[0].hash;
  for (int round = 0; round < 2; ++round) {
    for (detail::topic_record& r : made.records) {
      detail::recorded_raise raise(r);
      raise.before(0);
      raise.after(0);
      kept.forget_bindings(r);
    }
  }
  kept.finish_profile();
  const profile_data p = read_profile(f.path);
  ASSERT_EQ(p.handlers.size(), 3u);
  EXPECT_EQ(p.handlers[0].occurrence, 0u);
  EXPECT_EQ(p.handlers[1].occurrence, profile_handler::confused + 0u);
  EXPECT_EQ(p.handlers[2].occurrence, profile_handler::confused + 1u);
  EXPECT_EQ(p.handlers[2].calls, 2u);
}

HEDDLE_TEST(profile, "a profile of another compiler is replaced") {
  const file f;
  run_program(f.path, 1);
  profile_data p = read_profile(f.path);
  p.compiler = "other 1";
  f.write(to_text(p));
  run_program(f.path, 1);
  EXPECT_EQ(topic_named(read_profile(f.path), "outer").raises, 1u);
}

profile_data sample() {
  profile_data p;
  p.compiler = "clang 19";
  p.topics.push_back({1, 10, 1000, false, "a topic", {{7, {0, 1}}, {3, {}}}});
  p.topics.push_back({2, 20, 2000, true, "b", {{20, {1}}}});
  p.handlers.push_back({0xabcdef, 0, 7, 70, "one"});
  p.handlers.push_back({0xabcdef, 1, 27, 270, "two, with spaces"});
  p.edges.push_back({edge_kind::nested, 0, 1, 1, 5});
  p.edges.push_back({edge_kind::posted, profile_edge::none, profile_edge::none, 0, 2});
  p.edges.push_back({edge_kind::follows, 0, profile_edge::none, 1, 9});
  p.dropped = 4;
  return p;
}

HEDDLE_TEST(profile, "what is written is read back") {
  const auto read = parse_profile(to_text(sample()));
  ASSERT_TRUE(read) << read.error().line << read.error().what;
  EXPECT_EQ(*read, sample());
}

HEDDLE_TEST(profile, "every prefix and every changed digit of a number word is refused or reread") {
  const std::string text = to_text(sample());
  for (std::size_t len = 0; len < text.size(); ++len)
    EXPECT_FALSE(parse_profile(text.substr(0, len))) << len;
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const char c : {'-', ' ', '\n', '0', 'z', '\x01'}) {
      std::string changed = text;
      changed[at] = c;
      const auto read = parse_profile(changed);
      if (read) EXPECT_EQ(to_text(*read), changed) << at;
    }
  }
}

void expect_refused(std::string text, const std::string& from, const std::string& to,
                    const std::string& why) {
  const std::size_t at = text.find(from);
  ASSERT_NE(at, text.npos) << from;
  const auto read = parse_profile(text.replace(at, from.size(), to));
  ASSERT_FALSE(read) << to;
  EXPECT_NE(read.error().what.find(why), std::string::npos) << read.error().what;
}

HEDDLE_TEST(profile, "hostile texts are refused with what is wrong") {
  const std::string text = to_text(sample());
  expect_refused(text, "profile 1", "profile 2", "version");
  expect_refused(text, "clang 19", "clang\"; 19", "compiler's name");
  expect_refused(text, "heddle", "puddle", "not a profile");
  expect_refused(text, "sequence 0 7 0 1", "sequence 0 7 0 2", "no handler 2");
  expect_refused(text, "sequence 0 7", "sequence 2 7", "no topic 2");
  expect_refused(text, "sequence 0 3", "sequence 0 3 0 1", "twice");
  expect_refused(text, "nested 0 1 1", "nested 0 - 1", "kind");
  expect_refused(text, "follows 0 -", "follows 0 1", "kind");
  expect_refused(text, "posted - - 0 2", "nested 0 1 1 5", "twice");
  expect_refused(text, "0000000000000002", "0000000000000001", "twice");
  expect_refused(text, "plain", "plane", "haltable");
  expect_refused(text, "10 1000", "99999999999999999999 1000", "not a number");
  expect_refused(text, "dropped 4\n", "dropped 4\ndropped 4\n", "end");
  expect_refused(text, "topic 0000000000000002 ", "handler 0000000000000002 ", "");
  EXPECT_FALSE(parse_profile(text + "more\n"));
  profile_limits few;
  few.handlers_max = 1;
  EXPECT_FALSE(parse_profile(text, few));
  few = {.text_len_max = 10};
  EXPECT_FALSE(parse_profile(text, few));
}

HEDDLE_TEST(profile, "sums keep within the limits, and count what they leave out") {
  profile_data sum = sample();
  add_profile(sum, sample());
  EXPECT_EQ(sum.topics[0].raises, 20u);
  EXPECT_EQ(sum.topics[0].sequences.size(), 2u);
  EXPECT_EQ(sum.edges[0].count, 10u);
  EXPECT_EQ(sum.dropped, 8u);
  profile_data other = sample();
  other.topics[0].hash = 99;
  other.handlers[0].hash = 98;
  add_profile(sum, other, {.topics_max = 2, .handlers_max = 2});
  EXPECT_EQ(sum.topics.size(), 2u);
  EXPECT_EQ(sum.handlers.size(), 2u);
  EXPECT_GT(sum.dropped, 8u);
  sum.topics[1].raises = ~std::uint64_t{0};
  add_profile(sum, sample());
  EXPECT_EQ(sum.topics[1].raises, ~std::uint64_t{0});
}

}  // namespace
