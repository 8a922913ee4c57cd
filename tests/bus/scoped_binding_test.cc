// SPDX-License-Identifier: MIT
// Bindings that end with an object.
#include "heddle/bus/scoped_binding.hh"

#include <optional>
#include <stdexcept>
#include <string>

#include "support/test.hh"

using namespace heddle;

namespace {

struct scoped_said : topic<std::string> {};

/// A part of a program that listens while it lives.
class listening_part {
 public:
  listening_part(bus& b, std::string& log)
      : log_(&log), heard_(b, b.bind<scoped_said>([this](const std::string& s) { *log_ += s; })) {}

 private:
  std::string* log_;
  scoped_binding heard_;
};

}  // namespace

HEDDLE_TEST(scoped_binding, "a handler is bound as long as the object lives") {
  bus b;
  std::string log;
  {
    const listening_part part(b, log);
    b.raise<scoped_said>("a");
  }
  b.raise<scoped_said>("b");
  try {
    const scoped_binding heard(b, b.bind<scoped_said>([&](const std::string& s) { log += s; }));
    throw std::runtime_error("the part cannot begin");
  } catch (const std::runtime_error&) {
  }
  b.raise<scoped_said>("c");
  EXPECT_EQ(log, "a");
}

HEDDLE_TEST(scoped_binding, "moving it moves the binding, and assigning ends the one before") {
  bus b;
  std::string log;
  const auto adds = [&](char c) {
    return scoped_binding(b, b.bind<scoped_said>([&log, c](const std::string&) { log += c; }));
  };
  scoped_binding one = adds('1');
  scoped_binding other = std::move(one);
  EXPECT_FALSE(one);
  b.raise<scoped_said>("");
  EXPECT_EQ(log, "1");
  other = adds('2');
  b.raise<scoped_said>("");
  EXPECT_EQ(log, "12");
  other.unbind();
  other.unbind();
  b.raise<scoped_said>("");
  EXPECT_EQ(log, "12");
}

HEDDLE_TEST(scoped_binding, "a handler may end its own binding, and one may be let go on") {
  bus b;
  std::string log;
  std::optional<scoped_binding> once;
  once.emplace(b, b.bind<scoped_said>([&](const std::string& s) {
    log += s;
    once.reset();
  }));
  b.raise<scoped_said>("a");
  b.raise<scoped_said>("b");
  EXPECT_EQ(log, "a");
  binding kept;
  {
    scoped_binding part(b, b.bind<scoped_said>([&](const std::string& s) { log += s; }));
    kept = part.release();
  }
  b.raise<scoped_said>("c");
  EXPECT_EQ(log, "ac");
  EXPECT_TRUE(b.unbind(kept));
}
