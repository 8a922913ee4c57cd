// SPDX-License-Identifier: MIT
// Child processes on the drivers of the kernel: streams, how they end, and that all are collected.
#include "heddle/io/process.hh"

#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "heddle/heddle.hh"
#include "heddle/io/line_reader.hh"
#include "outcome.hh"
#include "support/drivers.hh"

using namespace heddle;
using heddle::test::error_of;
using namespace std::chrono_literals;

namespace {

/// GCC 12 cannot keep a braced list in a coroutine that awaits; here it is made outside of one.
template <class... Words>
task<process> start_command(process_options options, Words... words) {
  return spawn_process(std::vector<std::string>{words...}, std::move(options));
}

/// No child is left behind, dead or alive.
bool no_children() { return ::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD; }

task<> output_and_status() {
  process p = co_await start_command(
      process_options().output(child_stream::pipe).errors(child_stream::pipe), "sh", "-c",
      "echo one; echo two >&2; exit 3");
  line_reader out(p.output());
  EXPECT_EQ(co_await out.line(), "one");
  line_reader errors(p.errors());
  EXPECT_EQ(co_await errors.line(), "two");
  const exit_status how = co_await p.wait();
  EXPECT_EQ(how.code, 3);
  EXPECT_EQ(how.signal, 0);
  EXPECT_FALSE(how.success());
  EXPECT_TRUE(p.ended());
  EXPECT_EQ((co_await p.wait()).code, 3);  // and again
  p.kill(SIGKILL);                         // of one that has ended: nothing
}

task<> input_and_end() {
  process p = co_await start_command(
      process_options().input(child_stream::pipe).output(child_stream::pipe), "cat");
  std::string sent(300'000, 'z');
  scope s;
  s.spawn(
      [](process& to, const std::string& text) -> task<> {
        co_await to.input().write(text);
        to.input().close();
      },
      std::ref(p), sent);
  std::string got(sent.size() + 1, '\0');
  EXPECT_EQ(co_await p.output().read(got), sent.size());
  co_await s.join();
  EXPECT_TRUE((co_await p.wait()).success());
}

task<> surroundings() {
  process p = co_await start_command(process_options()
                                         .directory("/")
                                         .variable("HEDDLE_A", "old")
                                         .variable("HEDDLE_A", "1")
                                         .variable("HEDDLE_B", "2")
                                         .input(child_stream::null)
                                         .output(child_stream::pipe),
                                     "sh", "-c", "echo $HEDDLE_A:$HEDDLE_B; pwd; cat");
  line_reader out(p.output());
  EXPECT_EQ(co_await out.line(), "1:2");
  EXPECT_EQ(co_await out.line(), "/");
  EXPECT_TRUE((co_await p.wait()).success());
}

task<> clean_signals() {
  // Ours are blocked and ignored; the child's are not.
  process p = co_await start_command(process_options().output(child_stream::pipe), "grep", "-E",
                                     "Sig(Blk|Ign)", "/proc/self/status");
  line_reader out(p.output());
  EXPECT_EQ(co_await out.line(), "SigBlk:\t0000000000000000");
  const std::string ignored(co_await out.line());
  EXPECT_EQ(std::stoull(ignored.substr(8), nullptr, 16) & (1ull << (SIGPIPE - 1)), 0u) << ignored;
  EXPECT_TRUE((co_await p.wait()).success());
}

task<> killed() {
  process p = co_await start_command(process_options(), "sleep", "1000");
  const auto early = co_await as_expected(with_timeout(p.wait(), 5ms));
  EXPECT_EQ(error_of(early), std::errc::timed_out);
  EXPECT_FALSE(p.ended());
  p.kill(SIGTERM);
  const exit_status how = co_await p.wait();
  EXPECT_EQ(how.signal, SIGTERM);
}

task<std::string> complaint(std::vector<std::string> command, process_options options) {
  try {
    co_await spawn_process(command, options);
  } catch (const failure& f) {
    co_return f.what();
  }
  co_return "it ran";
}

task<> not_there() {
  const auto missing = co_await as_expected(start_command(process_options(), "/no/such/program"));
  EXPECT_EQ(error_of(missing), std::errc::no_such_file_or_directory);
  const auto nowhere =
      co_await as_expected(start_command(process_options().directory("/no/such/folder"), "true"));
  EXPECT_EQ(error_of(nowhere), std::errc::no_such_file_or_directory);
  process_options elsewhere;
  elsewhere.directory("/no/such/folder");
  std::vector<std::string> command(1, "true");
  std::string said = co_await complaint(command, elsewhere);
  EXPECT_NE(said.find("true in /no/such/folder"), std::string::npos) << said;
  command[0] = std::string("a\0b", 3);
  said = co_await complaint(command, elsewhere);
  EXPECT_NE(said.find("zero byte behind \"a\""), std::string::npos) << said;
  command.clear();
  said = co_await complaint(command, elsewhere);
  EXPECT_NE(said.find("names no program"), std::string::npos) << said;
}

task<> nobody_waits() {
  for (int i = 0; i < 5; ++i) static_cast<void>(co_await start_command(process_options(), "true"));
  process last = co_await start_command(process_options(), "true");
  EXPECT_TRUE((co_await last.wait()).success());
  for (int i = 0; i < 500 && !no_children(); ++i) co_await sleep_for(10ms);
  EXPECT_TRUE(no_children());
}

/// This process has no descriptor left while it lives; its children get some.
class no_descriptors {
 public:
  no_descriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit few = before_;
    few.rlim_cur = std::min<rlim_t>(before_.rlim_cur, 512);
    ::setrlimit(RLIMIT_NOFILE, &few);
    const int any = ::eventfd(0, EFD_CLOEXEC);
    for (int fd = any; fd >= 0; fd = ::fcntl(any, F_DUPFD_CLOEXEC, 0)) held_.push_back(fd);
  }
  no_descriptors(const no_descriptors&) = delete;
  ~no_descriptors() {
    for (const int fd : held_) ::close(fd);
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }

 private:
  rlimit before_{};
  std::vector<int> held_;
};

task<> without_descriptors() {
  process ran, killed;
  {
    const no_descriptors here;
    ran = co_await start_command(process_options(), "sh", "-c", "exit 7");
    EXPECT_EQ((co_await ran.wait()).code, 7);
    killed = co_await start_command(process_options(), "sleep", "1000");
    killed.kill(SIGKILL);
    EXPECT_EQ((co_await killed.wait()).signal, SIGKILL);
  }
}

/// As a parent that ignores the signal leaves it to its children.
task<> ignored_signal() {
  for (const int flags : {0, SA_NOCLDWAIT}) {
    struct sigaction how{}, before{};
    how.sa_handler = flags == 0 ? SIG_IGN : SIG_DFL;
    how.sa_flags = flags;
    ::sigaction(SIGCHLD, &how, &before);
    for (int i = 0; i < 20; ++i) {
      process p = co_await start_command(process_options(), "sh", "-c", "exit 3");
      EXPECT_EQ((co_await p.wait()).code, 3);
    }
    ::sigaction(SIGCHLD, &before, nullptr);
  }
}

/// The number that the system gives next is one of the standard streams'.
task<> closed_streams() {
  const int input = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 100);
  ::close(STDIN_FILENO);
  process p = co_await start_command(
      process_options().input(child_stream::pipe).output(child_stream::pipe), "cat");
  co_await p.input().write("passed\n");
  p.input().close();
  line_reader out(p.output());
  EXPECT_EQ(co_await out.line(), "passed");
  EXPECT_TRUE((co_await p.wait()).success());
  ::dup2(input, STDIN_FILENO);
  ::close(input);
}

task<> unsupported() {
  const auto started = co_await as_expected(start_command(process_options(), "true"));
  EXPECT_EQ(error_of(started), std::errc::operation_not_supported);
}

void run_real(const test::driver_maker& make, task<> (*body)()) {
  auto d = make();
  const bool simulated = std::string_view(d->name()) == "sim";
  runtime rt(std::move(d), {});
  rt.run(simulated ? unsupported() : body());
  if (!simulated) {
    EXPECT_TRUE(no_children());
  }
}

}  // namespace

DRIVER_TEST(process, "its output, its errors and its exit code come back") {
  run_real(make, &output_and_status);
}
DRIVER_TEST(process, "it reads what we write, until we close") { run_real(make, &input_and_end); }
DRIVER_TEST(process, "it runs in the folder and with the variables it was given") {
  run_real(make, &surroundings);
}
DRIVER_TEST(process, "it starts with clean signals") { run_real(make, &clean_signals); }
DRIVER_TEST(process, "a wait that times out leaves it running, and a signal ends it") {
  run_real(make, &killed);
}
DRIVER_TEST(process, "what cannot be run is a failure of spawn_process") {
  run_real(make, &not_there);
}
DRIVER_TEST(process, "children that nobody waits for are collected") {
  run_real(make, &nobody_waits);
}
DRIVER_TEST(process, "without a descriptor for it, it is a handle all the same") {
  run_real(make, &without_descriptors);
}
DRIVER_TEST(process, "its end is known although SIGCHLD was ignored") {
  run_real(make, &ignored_signal);
}
DRIVER_TEST(process, "its streams are right although ours are closed") {
  run_real(make, &closed_streams);
}
