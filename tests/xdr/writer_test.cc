// SPDX-License-Identifier: MIT
// Values that XDR cannot carry, and values as text.
#include "heddle/xdr/writer.hh"

#include <stdexcept>

#include "heddle/xdr/printer.hh"
#include "support/test.hh"
#include "xdr/types.hh"

namespace heddle::test {
namespace {

template <class T>
std::string refusal_of(const T& value) {
  try {
    static_cast<void>(xdr::encode(value));
    return "";
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
}

HEDDLE_TEST(xdr, "a writer refuses values that the other side would refuse") {
  pair_of_names names;
  names.second.emplace_back("123456789");
  EXPECT_EQ(refusal_of(names), "xdr: second: a length of 9 exceeds the bound 8");
  EXPECT_EQ(refusal_of(static_cast<color_name>(3)), "xdr: the value: the enum has no value 3");
  number_or_name which;
  which.kind = 2;  // without its arm
  EXPECT_NE(refusal_of(which).find("kind: the discriminant belongs to another arm"),
            std::string::npos);
  xdr::set_arm(which.body, number_or_name::arm_of(2), 2);
  EXPECT_EQ(refusal_of(which), "");
  EXPECT_THROW(xdr::set_arm(which.body, number_or_name::arm_of(9), 9), std::invalid_argument);
}

HEDDLE_TEST(xdr, "a value prints as text with the names of its fields") {
  node n;
  n.name = xdr::text<20>("a\"\n");
  n.handle = xdr::bytes<16>("\1\2");
  n.ratio = 0.5;
  xdr::list_builder<number_list> numbers(n.numbers);
  numbers.append().number = 7;
  numbers.append().number = 8;
  n.data.append_copy(std::string(100, 'x'));
  EXPECT_EQ(xdr::to_text(n, {.run_bytes_max = 4}),
            "{color: red, which: {kind: 1, body: 0}, name: \"a\\\"\\x0a\", handle: 0x0102, "
            "data: 0x78787878... (100 bytes), seal: 0x00000000... (5 bytes), place: [0, 0], "
            "ratio: 0.5, good: false, children: [], numbers: [{number: 7}, {number: 8}], "
            "next: []}");
  EXPECT_EQ(xdr::to_text(n, {.text_bytes_max = 10}), "{color: re...");
}

}  // namespace
}  // namespace heddle::test
