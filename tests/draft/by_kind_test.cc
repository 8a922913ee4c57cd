// SPDX-License-Identifier: MIT
// A pass names each kind of node: a call of by_kind() without one of them does not compile.
#include "draft/by_kind.hh"

#include "draft/flow.hh"
#include "draft/tree.hh"
#include "support/test.hh"

using namespace heddle::draft;

namespace {

struct round_kind {};
struct flat_kind {};
struct solid_kind : flat_kind {};
struct shape : node_of<round_kind, flat_kind, solid_kind> {};

template <class Node>
constexpr bool can_visit(Node& node, auto... functions) {
  return requires { by_kind(node, functions...); };
}

}  // namespace

HEDDLE_TEST(draft_nodes, "a kind without a function of its own does not compile") {
  shape s;
  const auto round = [](const round_kind&) { return 1; };
  const auto flat = [](const flat_kind&) { return 2; };
  const auto changes = [](flat_kind&) { return 3; };
  EXPECT_TRUE(can_visit(s, round, flat));  // solid_kind is a flat_kind, too
  EXPECT_FALSE(can_visit(s, round));
  EXPECT_FALSE(can_visit(s, flat));
  EXPECT_TRUE(can_visit(s, round, changes));
  EXPECT_FALSE(can_visit(std::as_const(s), round, changes));
  stmt jump{{break_stmt{}}, {}};
  instr clear{{clear_instr{0}}, {}};
  EXPECT_FALSE(can_visit(jump, [](const break_stmt&) {}));
  EXPECT_FALSE(can_visit(clear, [](const clear_instr&) {}, [](const call_parts&) {}));
  value one{{number_value{1}}, nullptr};
  EXPECT_FALSE(can_visit(one, [](const number_value&) {}));
}

HEDDLE_TEST(draft_nodes,
            "the function of the node's kind runs, or that of what it is derived from") {
  shape s;
  const auto which = [&] {
    return by_kind(s, [](const round_kind&) { return 1; }, [](const flat_kind&) { return 2; });
  };
  EXPECT_EQ(which(), 1);
  s.how = flat_kind{};
  EXPECT_EQ(which(), 2);
  s.how = solid_kind{};
  EXPECT_EQ(which(), 2);
  EXPECT_TRUE(s.is<solid_kind>());
  EXPECT_TRUE((s.is<round_kind, solid_kind>()));
  EXPECT_FALSE((s.is<round_kind, flat_kind>()));
  EXPECT_EQ(s.get<flat_kind>(), nullptr);
}

HEDDLE_TEST(draft_nodes, "a copy of a value has parts of its own") {
  const value one{{number_value{1}}, nullptr};
  value first{{unary_value{word::s_sub, one}}, nullptr};
  value second = first;
  const auto number_in = [](const value& v) {
    __int128 number = 0;
    each_part(v, [&](const value& part) { number = part.as<number_value>().number; });
    return static_cast<int>(number);
  };
  each_part(second, [](value& part) { part.as<number_value>().number = 2; });
  EXPECT_EQ(number_in(first), 1);
  EXPECT_EQ(number_in(second), 2);
  first = second;
  each_part(second, [](value& part) { part.as<number_value>().number = 3; });
  EXPECT_EQ(number_in(first), 2);
}
