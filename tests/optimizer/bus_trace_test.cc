// SPDX-License-Identifier: MIT
// Traces of a bus: what the lines say, that their graph is that of the profile of the same run, the
// limit of the file, and lines that the reader refuses.
#include "heddle/optimizer/bus_trace.hh"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "heddle/base/error.hh"
#include "heddle/bus/bus.hh"
#include "heddle/optimizer/profile_graph.hh"
#include "support/test.hh"
#include "support/tree.hh"
#include "support/virtual_runtime.hh"

// Named, so that the names in traces do not say the file.
namespace bus_trace_test {

using namespace heddle;
using namespace std::chrono_literals;

struct traced_packet : topic<int> {};
struct traced_key : haltable_topic<> {};
struct traced_tick : topic<> {};

struct traced_part {
  bus& b;
  void on_packet(int n) {
    static_cast<void>(b.raise<traced_key>());
    if (n > 0) b.after<traced_tick>(33ms);
  }
};
inline void on_tick() {}

}  // namespace bus_trace_test

namespace {

using namespace bus_trace_test;

/// A file that goes with the test.
struct traced_file {
  explicit traced_file(const char* name)
      : path(::testing::TempDir() + "bus_trace_" + name + std::to_string(::getpid())) {
    std::filesystem::remove(path);
  }
  traced_file(const traced_file&) = delete;
  traced_file& operator=(const traced_file&) = delete;
  ~traced_file() { std::filesystem::remove(path); }
  [[nodiscard]] std::string text() const {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string path;
};

/// The lines without their times.
std::string without_times(const std::string& text) {
  std::istringstream in(text);
  std::string out;
  for (std::string line; std::getline(in, line);) {
    const bool timed = line.find('.') < line.find(' ');
    out += (timed ? line.substr(line.find(' ') + 1) : line) + '\n';
  }
  return out;
}

HEDDLE_TEST(bus_trace, "each raise, request and change of the bindings is a line") {
  const traced_file f("lines");
  {
    test::virtual_runtime v;
    bus b({.trace = f.path});
    traced_part part{b};
    b.bind<traced_packet, &traced_part::on_packet>(&part, 30);
    b.bind<traced_key>([] { return flow::halt; });
    b.bind<traced_tick, &on_tick>();
    b.raise<traced_packet>(1);
    b.post<traced_tick>();
    v.rt.run();
    b.unbind_all(&part);
  }
  const std::string text = without_times(f.text());
  for (const char* const expected : {
           "heddle-bus-trace 1\nbus 19\n",
           "traced_part::on_packet",
           "traced_packet plain 30 ",
           "traced_key haltable 0 ",
       })
    EXPECT_NE(text.find(expected), std::string::npos) << expected << '\n' << text;
  const auto count = [&text](const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("\nbind "), 3u) << text;
  EXPECT_EQ(count("\nunbind "), 3u) << text;
  EXPECT_EQ(count("\nraise "), 6u) << text;
  EXPECT_EQ(count(" sync 0"), 4u) << text;
  EXPECT_EQ(count(" async 33.000 by "), 1u) << text;
  EXPECT_EQ(count(" async 0.000\n"), 1u) << text;
  EXPECT_EQ(count(" by "), 2u) << text;
}

HEDDLE_TEST(bus_trace, "a trace in virtual time has the times of the program") {
  const traced_file f("times");
  {
    test::virtual_runtime v;
    bus b({.trace = f.path});
    b.bind<traced_tick, &on_tick>();
    b.after<traced_tick>(12s);
    v.rt.run();
  }
  const std::string text = f.text();
  EXPECT_NE(text.find("\n12.00"), std::string::npos) << text;
}

/// The graphs of a profile and of a trace.
void expect_same_graphs(const traced_file& profile, const traced_file& trace) {
  const profile_data counted = read_profile(profile.path);
  const profile_data replayed = read_trace(trace.path);
  EXPECT_EQ(profile_graph(replayed), profile_graph(counted));
  EXPECT_EQ(profile_graph(replayed, {.handlers = true}),
            profile_graph(counted, {.handlers = true}));
  EXPECT_EQ(profile_graph(replayed, {.handlers = true, .threshold = 0.3}),
            profile_graph(counted, {.handlers = true, .threshold = 0.3}));
  EXPECT_GT(counted.edges.size(), 0u);
}

HEDDLE_TEST(bus_trace, "the graph of a trace is the graph of the profile of the same run") {
  const traced_file profile("profile");
  const traced_file trace("trace");
  {
    test::virtual_runtime v;
    bus b({.profile = profile.path, .trace = trace.path});
    traced_part part{b};
    b.bind<traced_packet, &traced_part::on_packet>(&part, 30);
    const binding key = b.bind<traced_key>([] {});
    b.bind<traced_key>([&] { b.unbind(key); }, 1);
    b.filter<traced_tick>([] { return flow::go_on; });
    b.bind<traced_tick>([&b] { b.bind<traced_tick, &on_tick>(-5); });
    for (int i = 0; i < 4; ++i) b.raise<traced_packet>(i);
    v.rt.run();
  }
  expect_same_graphs(profile, trace);
}

HEDDLE_TEST(bus_trace, "random programs give one graph by their traces and their profiles") {
  const traced_file profile("random_profile");
  const traced_file trace("random_trace");
  const std::string program = test::build_dir() + "/tests/bus_differential_generic";
  if (!std::filesystem::exists(program)) GTEST_SKIP() << program << " is not built";
  const std::string command = "HEDDLE_PROFILE=" + profile.path + " HEDDLE_BUS_TRACE=" + trace.path +
                              ' ' + program + " traces 0 12 > /dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);
  expect_same_graphs(profile, trace);
}

HEDDLE_TEST(bus_trace, "a trace ends at its limit, in whole lines, and says so") {
  const traced_file f("limit");
  for (int run = 0; run < 2; ++run) {
    bus b({.trace = f.path, .trace_bytes_max = 5000});
    b.bind<traced_tick, &on_tick>();
    for (int i = 0; i < 1000; ++i) b.raise<traced_tick>();
  }
  EXPECT_LE(std::filesystem::file_size(f.path), 5000u);
  EXPECT_GT(std::filesystem::file_size(f.path), 4900u);
  EXPECT_TRUE(f.text().ends_with("\nfull\n"));
  const profile_data p = read_trace(f.path);
  EXPECT_GT(p.topics.at(0).raises, 10u);
  EXPECT_GE(p.dropped, 1u);
}

HEDDLE_TEST(bus_trace, "a file that is no trace is left alone") {
  const traced_file f("other");
  std::ofstream(f.path) << "mine\n";
  EXPECT_THROW(bus({.trace = f.path}), failure);
  ::setenv("HEDDLE_BUS_TRACE", f.path.c_str(), 1);
  {
    bus b;  // says so on standard error, once
    b.bind<traced_tick, &on_tick>();
    b.raise<traced_tick>();
  }
  ::unsetenv("HEDDLE_BUS_TRACE");
  EXPECT_EQ(f.text(), "mine\n");
  EXPECT_FALSE(is_trace(f.path));
  EXPECT_THROW(static_cast<void>(read_trace(f.path)), failure);
}

HEDDLE_TEST(bus_trace, "a line that the writer would not have written is refused with its number") {
  const std::string first = "heddle-bus-trace 1\nbus 19\n0.000001 bind t plain 0 h\n";
  const auto problem = [&first](const std::string& line) {
    const auto read = profile_of_trace(first + line + "\n");
    if (read) return std::string("accepted");
    return std::to_string(read.error().line) + ": " + read.error().what;
  };
  EXPECT_EQ(problem("0.000002 raise t sync 0"), "accepted");
  EXPECT_EQ(problem("0.000002 raise t sync 0 by h of t"), "4: this topic was never raised");
  EXPECT_EQ(problem("0.000002 raise t sync 0 by x of t"), "4: this handler was never bound");
  EXPECT_EQ(problem("0.000002 raise t sync 1"), "4: expected \"sync 0\" or \"async MS\"");
  EXPECT_EQ(problem("0.000002 raise t async 1"), "4: a number with 3 decimals is missing");
  EXPECT_EQ(problem("0.02 raise t sync 0"), "4: a number with 6 decimals is missing");
  EXPECT_EQ(problem("0.000002 unbind t 0 x"), "4: this handler is not bound");
  EXPECT_EQ(problem("0.000002 unbind s 0 h"), "4: this topic has no handler");
  EXPECT_EQ(problem("0.000002 bind t plain 0 \"h"), "4: a quote is not closed");
  EXPECT_EQ(problem("0.000002 bind t plain  0 h"), "4: a word is missing");
  EXPECT_EQ(problem("0.000002 bind t plain 0 h more"), "4: more words than belong here");
  EXPECT_EQ(problem("0.000002 bind t odd 0 h"), "4: expected \"plain\" or \"haltable\"");
  EXPECT_EQ(problem("0.000002 call t"), "4: expected \"raise\", \"bind\" or \"unbind\"");
  EXPECT_EQ(problem("bus x"), "4: \"x\" is not a number in range");
  EXPECT_FALSE(profile_of_trace(first + "0.000002 raise t sync 0"));
  EXPECT_FALSE(profile_of_trace("heddle-bus-trace 1\n0.000001 raise t sync 0\n"));
  EXPECT_FALSE(profile_of_trace("heddle-bus-profile 1\n"));
}

}  // namespace
