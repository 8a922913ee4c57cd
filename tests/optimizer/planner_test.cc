// SPDX-License-Identifier: MIT
// What is merged and what is not, what the plan looks like as source, and the picture of a profile.
#include "heddle/optimizer/planner.hh"

#include <algorithm>
#include <set>

#include "heddle/optimizer/profile_graph.hh"
#include "support/test.hh"

namespace {

using namespace heddle;

/// Two busy topics and a quiet one; the first has one usual and three rarer sequences.
profile_data three_topics() {
  profile_data p;
  p.compiler = "clang 19";
  p.topics.push_back({0x11, 1000, 0, false, "app::busy", {}});
  p.topics.push_back({0x22, 900, 0, true, "app::second", {}});
  p.topics.push_back({0x33, 1, 0, false, "app::quiet", {}});
  p.handlers.push_back({0xa, 0, 1000, 0, "&app::f"});
  p.handlers.push_back({0xb, 0, 900, 0, "&app::t"});  // printed like the next
  p.handlers.push_back({0xb, 1, 900, 0, "&app::t"});
  p.handlers.push_back({0xc, 0, 10, 0, "main()::<lambda()> in main.cc"});
  p.handlers.push_back({0xc, 1, 10, 0, "main()::<lambda()> in main.cc"});
  p.topics[0].sequences = {{20, {3}}, {800, {0, 3}}, {100, {0, 3, 4}}, {60, {0}}, {20, {4}}};
  p.topics[1].sequences = {{900, {1, 0}}};
  p.topics[2].sequences = {{1, {0}}};
  p.edges.push_back({edge_kind::nested, 0, 0, 1, 700});
  p.edges.push_back({edge_kind::nested, 0, 0, 2, 1});
  p.edges.push_back({edge_kind::posted, profile_edge::none, profile_edge::none, 0, 5});
  p.edges.push_back({edge_kind::follows, 0, profile_edge::none, 1, 700});
  return p;
}

HEDDLE_TEST(planner, "the busiest topics are merged until theta of the calls is covered") {
  const plan most = make_plan(three_topics(), {.theta = 0.95, .compiler = {}});
  ASSERT_EQ(most.topics.size(), 2u);
  EXPECT_EQ(most.topics[0].topic, 0u);
  EXPECT_EQ(most.topics[1].topic, 1u);
  EXPECT_EQ(make_plan(three_topics(), {.theta = 0.3, .compiler = {}}).topics.size(), 1u);
  const plan_options all{.theta = 1, .share_min = 0, .compiler = {}};
  EXPECT_EQ(make_plan(three_topics(), all).topics.size(), 3u);
  EXPECT_EQ(make_plan(three_topics(), {.theta = 0, .compiler = {}}).topics.size(), 0u);
}

HEDDLE_TEST(planner, "at most three sequences are merged, the usual first, no rare ones") {
  const plan p = make_plan(three_topics(), {.theta = 0.3, .compiler = {}});
  ASSERT_EQ(p.topics.at(0).variants.size(), 3u);
  EXPECT_EQ(p.topics[0].variants[0].count, 800u);
  EXPECT_EQ(p.topics[0].variants[1].count, 100u);
  EXPECT_EQ(p.topics[0].variants[2].count, 60u);
  EXPECT_EQ(make_plan(three_topics(), {.theta = 0.3, .variant_share_min = 0.09, .compiler = {}})
                .topics[0]
                .variants.size(),
            2u);
}

HEDDLE_TEST(planner, "handlers that are printed alike in two files are holes, lambdas are not") {
  const plan p = make_plan(three_topics(), {.theta = 0.95, .compiler = {}});
  EXPECT_EQ(p.topics[1].variants.at(0).numbers[0], -1);
  EXPECT_GE(p.topics[1].variants[0].numbers[1], 0);
  EXPECT_TRUE(
      std::ranges::none_of(p.topics[0].variants[1].numbers, [](std::int32_t n) { return n < 0; }));
  ASSERT_EQ(p.notes.size(), 1u);
  EXPECT_NE(p.notes[0].find("&app::t: several handlers have this name"), std::string::npos);
}

HEDDLE_TEST(planner, "handlers of two files that the compiler calls alike are holes, and named") {
  profile_data p = three_topics();
  p.handlers[4].occurrence = profile_handler::confused;
  const plan made = make_plan(p, {.theta = 0.95, .compiler = {}});
  EXPECT_TRUE(std::ranges::none_of(made.handlers, [](std::uint32_t h) { return h >= 3; }));
  ASSERT_EQ(made.notes.size(), 2u);
  EXPECT_NE(made.notes[1].find("main.cc: several handlers have this name"), std::string::npos);
}

HEDDLE_TEST(planner, "a sequence too long to merge is left generic, and named") {
  const plan p = make_plan(three_topics(), {.theta = 0.3, .handlers_max = 2, .compiler = {}});
  EXPECT_EQ(p.topics.at(0).variants.size(), 2u);
  EXPECT_NE(p.notes.at(0).find("app::busy: a sequence of 3 handlers"), std::string::npos);
}

HEDDLE_TEST(planner, "another compiler's profile merges nothing, and says so") {
  const plan p = make_plan(three_topics(), {.compiler = "gcc 12"});
  EXPECT_TRUE(p.topics.empty());
  EXPECT_NE(p.notes.at(0).find("made by clang 19, this build is made by gcc 12"),
            std::string::npos);
  EXPECT_NE(plan_header(p, three_topics()).find("using plan = no_plan;"), std::string::npos);
}

HEDDLE_TEST(planner, "the table says what becomes of whom") {
  const std::string table = plan_table(make_plan(three_topics()), three_topics());
  EXPECT_NE(table.find("2 of 3 topics and 3 of 5 handlers are merged"), std::string::npos) << table;
  EXPECT_NE(table.find("700"), std::string::npos);  // raises inside of merged handlers
}

HEDDLE_TEST(planner, "the header is constants and names, and no name of the program can get out") {
  profile_data p = three_topics();
  p.handlers[0].name = "&app::f\\";
  p.topics[0].name = "app::busy */ #error \"\\";
  const std::string header = plan_header(make_plan(p), p);
  EXPECT_NE(header.find("{0x0000000000000011u, 0, 3, 0, raised_from::outside, false, true},  "
                        "// app::busy */ #error \"/\n"),
            std::string::npos)
      << header;
  EXPECT_EQ(header.find('\\'), std::string::npos);
  EXPECT_NE(header.find("HEDDLE_BUS_HOT(plan_"), std::string::npos);
  EXPECT_NE(header.find("#define HEDDLE_BUS_PLAN_READ"), std::string::npos);
}

HEDDLE_TEST(planner, "what changes the plan changes its stamp") {
  profile_data changed = three_topics();
  std::swap(changed.topics[0].sequences[1].handlers[0], changed.topics[0].sequences[1].handlers[1]);
  EXPECT_EQ(make_plan(three_topics()).stamp, make_plan(three_topics()).stamp);
  EXPECT_NE(make_plan(three_topics()).stamp, make_plan(changed).stamp);
}

HEDDLE_TEST(planner,
            "plans of one shape for other topics, handlers or compilers have other stamps") {
  const profile_data first = three_topics();
  std::set<std::uint64_t> stamps{make_plan(first).stamp};
  const auto also = [&](auto change) {
    profile_data p = first;
    change(p);
    EXPECT_TRUE(stamps.insert(make_plan(p).stamp).second) << stamps.size();
  };
  also([](profile_data& p) { p.topics[1].hash = 0x23; });
  also([](profile_data& p) { p.handlers[0].hash = 0xaa; });
  also([](profile_data& p) { p.handlers[4].occurrence = 2; });
  also([](profile_data& p) { p.compiler = "clang 20"; });
}

/// Topics 0 to 5, each raised by the last handler of the one before.
profile_data chain_of_six() {
  profile_data p;
  p.compiler = "clang 19";
  for (std::uint32_t i = 0; i != 6; ++i) {
    p.topics.push_back({0x11 + i, 100, 0, false, "app::step", {}});
    p.handlers.push_back({0xa0 + i, 0, 100, 0, "&app::f"});
    p.topics[i].sequences = {{100, {i}}};
    if (i != 0) p.edges.push_back({edge_kind::nested, i - 1, i - 1, i, 100});
  }
  return p;
}

HEDDLE_TEST(planner, "a topic with few of the calls is left out, and the plan says so") {
  const plan p = make_plan(three_topics(), {.theta = 1, .compiler = {}});
  EXPECT_EQ(p.topics.size(), 2u);
  EXPECT_EQ(std::ranges::count(p.notes,
                               "app::quiet: left out, because it makes 0.0 % of the handler calls"),
            1);
}

HEDDLE_TEST(planner, "a topic that was measured to be slower is left out, with the reason") {
  const plan p = make_plan(three_topics(), {.left_out = {{0x11, "slower by 1 %"}}, .compiler = {}});
  ASSERT_EQ(p.topics.size(), 1u);
  EXPECT_EQ(p.topics[0].topic, 1u);
  EXPECT_EQ(std::ranges::count(p.notes, "app::busy: left out, because merged it was slower by 1 %"),
            1);
}

/// For each topic: its chain, and o, c or a: raised from outside of the chain, in it, anywhere.
std::string chains_of(const profile_data& p) {
  plan made = make_plan(p, {.theta = 1, .compiler = {}});
  std::ranges::sort(made.topics, {}, &plan_topic::topic);
  std::string all;
  for (const plan_topic& t : made.topics) {
    all += std::to_string(t.chain);
    all += t.from == detail::raised_from::outside ? 'o'
           : t.from == detail::raised_from::chain ? 'c'
                                                  : 'a';
  }
  return all;
}

HEDDLE_TEST(planner, "topics whose handlers raise each other, always alike, are one chain") {
  EXPECT_EQ(chains_of(chain_of_six()), "0o0c0c0c0c0c");
  profile_data changes = chain_of_six();
  changes.topics[2].sequences.push_back({1, {2, 3}});
  EXPECT_EQ(chains_of(changes), "1o1c0o2o2c2c");  // topic 2 has the most calls
  profile_data seldom = chain_of_six();
  seldom.edges[2].count = 4;  // topic 3 is mostly raised by others
  EXPECT_EQ(chains_of(seldom), "0o0c0c1o1c1c");
  profile_data both = chain_of_six();
  both.edges[2].count = 60;
  EXPECT_EQ(chains_of(both), "0o0c0c0a0c0c");
  profile_data local = chain_of_six();
  local.topics[1].name = "(anonymous namespace)::step in main.cc";
  EXPECT_EQ(chains_of(local), "0o1o2o2c2c2c");
}

std::string inlined_of(const profile_data& p) {
  plan made = make_plan(p, {.theta = 1, .compiler = {}});
  std::ranges::sort(made.topics, {}, &plan_topic::topic);
  std::string all;
  for (const plan_topic& t : made.topics) all += t.inlined ? 'i' : '-';
  return all;
}

HEDDLE_TEST(planner, "what one handler raises becomes part of it, four levels at a time") {
  EXPECT_EQ(inlined_of(chain_of_six()), "iiii-i");
  profile_data two_raisers = chain_of_six();
  two_raisers.edges.push_back({edge_kind::nested, 0, 0, 2, 1});
  EXPECT_EQ(inlined_of(two_raisers), "ii-iii");
  profile_data from_outside = chain_of_six();
  from_outside.edges.push_back({edge_kind::nested, profile_edge::none, profile_edge::none, 2, 9});
  EXPECT_EQ(inlined_of(from_outside), "iiii-i");
  profile_data ring = chain_of_six();
  ring.edges.push_back({edge_kind::nested, 5, 5, 0, 1});
  EXPECT_EQ(inlined_of(ring), "------");
}

HEDDLE_TEST(planner, "handlers that a program lacks are found missing") {
  const plan p = make_plan(three_topics(), {.theta = 0.3, .variants_max = 1, .compiler = {}});
  ASSERT_EQ(p.handlers.size(), 2u);
  const std::string program =
      "...heddle-hot-handler:000000000000000a:0;...heddle-hot-handler:000000000000000c:1;";
  const auto missing = missing_handlers(p, three_topics(), program);
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_EQ(p.handlers[missing[0]], 3u);
}

HEDDLE_TEST(profile_graph,
            "topics: solid for nested raises, dashed for later ones, dotted for next") {
  const std::string dot = profile_graph(three_topics());
  EXPECT_NE(dot.find("t0 [label=\"busy\""), std::string::npos) << dot;
  EXPECT_NE(dot.find("t0 -> t1 [style=solid, label=\"700\""), std::string::npos);
  EXPECT_NE(dot.find("t0 -> t1 [style=dotted, label=\"700\""), std::string::npos);
  EXPECT_NE(dot.find("outside -> t0 [style=dashed, label=\"5\""), std::string::npos);
}

HEDDLE_TEST(profile_graph, "the threshold leaves out rare edges, and topics without any") {
  const std::string dot = profile_graph(three_topics(), {.threshold = 0.5});
  EXPECT_EQ(dot.find("quiet"), std::string::npos) << dot;
  EXPECT_EQ(dot.find("dashed"), std::string::npos);
  EXPECT_NE(dot.find("second"), std::string::npos);
}

HEDDLE_TEST(profile_graph, "handlers: boxes in the usual order, edges from who raises") {
  const std::string dot = profile_graph(three_topics(), {.handlers = true});
  EXPECT_NE(dot.find("t0:h0 -> t1 [style=solid, label=\"700\""), std::string::npos) << dot;
  EXPECT_LT(dot.find("port=\"h0\""), dot.find("port=\"h3\""));
  EXPECT_NE(dot.find("&lt;lambda()&gt;"), std::string::npos);
  EXPECT_EQ(dot.find("dotted"), std::string::npos);
}

}  // namespace
