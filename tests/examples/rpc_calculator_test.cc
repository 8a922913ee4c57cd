// SPDX-License-Identifier: MIT
// The calculator as its users start it: both roles in one program, and as two programs of which the
// server ends at SIGTERM.
#include <csignal>

#include "examples/output.hh"
#include "heddle/heddle.hh"
#include "heddle/io/line_reader.hh"
#include "heddle/io/process.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* sums_of_calculator =
    "7 + 2 = 9\n7 / 2 = 3.5\n7 / 0: DIVISION_BY_ZERO\nthe mean of 1, 2 and 6 is 3\n";

HEDDLE_TEST(examples, "rpc_calculator asks its own server, on sockets and in the simulation") {
  expect_output("rpc_calculator", sums_of_calculator, "epoll");
  expect_output("rpc_calculator", sums_of_calculator, "sim");
}

task<> serve_and_ask_calculator() {
  std::vector<std::string> words{build_dir() + "/examples/rpc_calculator", "serve", "0"};
  process_options options;
  options.output(child_stream::pipe);
  process server = co_await spawn_process(command_line(std::move(words)), options);
  line_reader lines(server.output());
  const std::string first(co_await with_timeout(lines.line(), 20s));
  const std::string port = first.substr(first.rfind(':') + 1);
  int status = -1;
  EXPECT_EQ(output_of("rpc_calculator ask " + port, status, "epoll"), sums_of_calculator);
  EXPECT_EQ(status, 0);
  server.kill(SIGTERM);
  const exit_status how = co_await with_timeout(server.wait(), 20s);
  EXPECT_TRUE(how.success());
}

HEDDLE_TEST(examples, "rpc_calculator serves another program, and ends at SIGTERM") {
  runtime rt;
  rt.run(serve_and_ask_calculator());
}

}  // namespace
}  // namespace heddle::test
