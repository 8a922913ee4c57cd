// SPDX-License-Identifier: MIT
// Run files: what is written is read again, and what cannot be read is refused with its line.
#include "heddle/sim/run_file.hh"

#include <cerrno>

#include "heddle/base/error.hh"
#include "support/draws.hh"
#include "support/seeds.hh"
#include "support/test.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* whole_file = R"(heddle-run 1
program = "bank"
build = "7d3f"
seed = 35889
calm_at = 20
size clients 3
at 1.25 partition proxy -> web1
at 1.5 heal proxy -> web1
at 1.9 kill web2 power keep=90
at 1.95 kill web1 process
at 2.1 restart web2
at 2.2 clock client -3.5
at 2.3 pause web1 0.000000001
at 2.4 link web1 -- web2 latency=0.1 jitter=0.01 speed=32768 loss=0.25
op web1 send 41 short=1
op web1#2 open 3 error=EMFILE delay=0.1
op web1 receive 7 reset
op proxy socket 1 error=EMFILE
calm turns 1-400
calm web1.order 7-7
expect = "lost: key \"7\" of a\\b"
trace = 123456789
)";

HEDDLE_TEST(run_file, "a file is written as it was read") {
  const sim::run_file run = sim::parse_run_file(whole_file);
  EXPECT_EQ(sim::to_text(run), whole_file);
  EXPECT_EQ(run.program, "bank");
  EXPECT_EQ(run.calm_at, 20s);
  EXPECT_EQ(run.sizes.at("clients"), 3U);
  ASSERT_EQ(run.troubles.size(), 8U);
  EXPECT_EQ(run.troubles[0].at, 1250ms);
  EXPECT_EQ(run.troubles[2].keep, 90U);
  EXPECT_EQ(run.troubles[5].span, -3500ms);
  EXPECT_EQ(run.troubles[7].link.bytes_per_second, 32768U);
  EXPECT_EQ(run.troubles[7].link.loss, 0.25);
  ASSERT_EQ(run.faults.size(), 4U);
  EXPECT_EQ(run.faults[1].error, EMFILE);
  EXPECT_EQ(run.faults[1].process, "web1#2");
  EXPECT_EQ(run.faults[1].delay, 100ms);
  EXPECT_TRUE(run.faults[2].reset);
  ASSERT_EQ(run.calm.size(), 2U);
  EXPECT_EQ(run.expect, "lost: key \"7\" of a\\b");
}

HEDDLE_TEST(run_file, "comments, empty lines and other spellings of numbers are read") {
  const sim::run_file run = sim::parse_run_file(
      "heddle-run 1\r\n# by hand\n\nseed = 0x8c31\r\nat 2.2 clock a +3.5\ncalm turns 5\n");
  EXPECT_EQ(run.seed, 0x8c31U);
  EXPECT_EQ(run.troubles[0].span, 3500ms);
  EXPECT_EQ(run.calm[0].last, 5U);
}

std::string refusal_of(const std::string& line) {
  try {
    static_cast<void>(sim::parse_run_file("heddle-run 1\n" + line + "\n"));
  } catch (const failure& f) {
    return f.what();
  }
  return "";
}

HEDDLE_TEST(run_file, "what cannot be read is refused with its line and what may stand there") {
  EXPECT_THROW(static_cast<void>(sim::parse_run_file("")), failure);
  EXPECT_THROW(static_cast<void>(sim::parse_run_file("heddle-run 2\n")), failure);
  const auto refused = [](const char* line, const char* part) {
    const std::string said = refusal_of(line);
    EXPECT_NE(said.find("line 2: "), std::string::npos) << line << ": " << said;
    EXPECT_NE(said.find(part), std::string::npos) << line << ": " << said;
  };
  refused("bad", "'bad' is none of program, ");
  refused("program bank", "'bank' stands where '=' is expected");
  refused("program = bank", "a text in quotes");
  refused("program = \"bank", "no closing quote");
  refused("program = \"a\" b", "'b' is too much");
  refused("seed = -1", "no number");
  refused("seed = 18446744073709551616", "no number");
  refused("seed = 1 2", "'2' is too much");
  refused("at", "a time is missing");
  refused("at -1 restart a", "not negative");
  refused("at 1.0000000001 restart a", "no time in seconds");
  refused("at 1. restart a", "no time in seconds");
  refused("at 99999999999 restart a", "no time in seconds");
  refused("at 1 explode a", "'explode' is none of partition");
  refused("at 1 partition a b", "'b' stands where '->' is expected");
  refused("at 1 partition a ->", "a node is missing");
  refused("at 1 kill a", "power or process is missing");
  refused("at 1 kill a softly", "of power or process");
  refused("at 1 kill a power", "a value is missing");
  refused("at 1 kill a power live=1", "keep= is expected");
  refused("at 1 pause a -1", "not negative");
  refused("at 1 link a -- b latency=1 jitter=0 speed=0 loss=2", "no probability");
  refused("op a send 0 reset", "counted from 1");
  refused("op a sent 1 reset", "no kind of operation");
  refused("op a send 1", "a fault is missing");
  refused("op a send 1 error=EPERM", "none of EINTR");
  refused("op a open 1 reset", "open cannot have the fault reset");
  refused("op a accept 1 short=1", "accept cannot have the fault short");
  refused("op a socket 1 delay=1", "socket cannot have the fault delay");
  refused("op a send 1 short=0", "from 1 to");
  refused("op a send 1 delay=-1", "not negative");
  refused("calm turns 0-1", "a range");
  refused("calm turns 3-1", "a range");
  refused("size clients", "a number is missing");
  refused("trace = x", "no number");
}

HEDDLE_TEST(run_file, "random files are read as they were written, and cut ones never crash") {
  for_seeds(2000, [](std::uint64_t seed) {
    draws draw(seed);
    sim::run_file run{.program = "p" + std::to_string(draw.below(10)), .seed = draw.next()};
    const auto name = [&draw] { return "n" + std::to_string(draw.below(5)); };
    for (std::uint64_t left = draw.below(6); left != 0; --left) {
      sim::trouble t{.at = draw.span(100s),
                     .kind = static_cast<sim::trouble_kind>(draw.below(7)),
                     .node = name()};
      t.other = name();
      t.how = draw.one_of(2) ? sim::death::power : sim::death::process;
      t.keep = draw.next();
      t.span = draw.span(10s);
      t.link = {.latency = draw.span(1s), .bytes_per_second = draw.below(1 << 20)};
      run.troubles.push_back(std::move(t));
    }
    for (std::uint64_t left = draw.below(6); left != 0; --left)
      run.faults.push_back({.process = name(),
                            .operation = draw.one_of(2) ? "send" : "read",
                            .ordinal = draw.from(1, 100),
                            .error = draw.one_of(2) ? EIO : 0,
                            .reset = draw.one_of(2),
                            .bytes_max = 1 + static_cast<std::uint32_t>(draw.below(100)),
                            .delay = draw.span(1s)});
    const std::string text = sim::to_text(run);
    EXPECT_EQ(sim::to_text(sim::parse_run_file(text)), text);
    std::string broken = text.substr(0, draw.below(text.size() + 1));
    if (!broken.empty()) broken[draw.below(broken.size())] = static_cast<char>(draw.below(256));
    try {
      const std::string once = sim::to_text(sim::parse_run_file(broken));
      EXPECT_EQ(sim::to_text(sim::parse_run_file(once)), once);
    } catch (const failure&) {
      // refused
    }
  });
}

HEDDLE_TEST(run_file, "a build has a name") {
  EXPECT_GE(sim::build_id().size(), 16U);
  EXPECT_EQ(sim::build_id(), sim::build_id());
}

}  // namespace
}  // namespace heddle::test
