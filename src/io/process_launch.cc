// SPDX-License-Identifier: MIT
// Starting a child: pipes, then posix_spawn in the pool for calls that block (it waits until the
// child has begun its program), then a collector. Everything that can fail comes before the start:
// behind it there is a child, so there must be a handle.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "heddle/core/scope.hh"
#include "heddle/io/call.hh"
#include "heddle/io/detail/lane.hh"
#include "heddle/io/process.hh"
#include "heddle/sched/detail/here.hh"
#include "io/process_state.hh"

namespace heddle {

process_options& process_options::variable(std::string name, std::string value) {
  const std::string start = name + "=";
  std::erase_if(variables_, [&](const std::string& v) { return v.starts_with(start); });
  variables_.push_back(start + value);
  return *this;
}

/// One start, from options to a running child.
struct process_launch {
  process_launch(command_line c, process_options o)
      : command(std::move(c.words_)), options(std::move(o)) {}
  process_launch(const process_launch&) = delete;
  ~process_launch() {
    for (const int fd : child_ends)
      if (fd >= 0) driver_here().close(fd, worker::here());
  }

  void open_streams();
  void gather_strings();
  /// The program, and the folder that it was to begin in: either may be missing.
  [[nodiscard]] std::string what_and_where() const {
    return command[0] + (options.directory_.empty() ? "" : " in " + options.directory_);
  }
  /// Runs in the pool, and uses nothing of the runtime. Returns the child's number or -errno.
  [[nodiscard]] std::int64_t run() noexcept;
  [[nodiscard]] process finish(int pid) noexcept;

  std::vector<std::string> command;
  process_options options;
  process child;
  std::shared_ptr<detail::process_state> state = std::make_shared<detail::process_state>();
  task<> collector = detail::collect(state);
  int child_ends[3] = {-1, -1, -1};
  std::vector<char*> arguments;
  std::vector<char*> variables;

 private:
  void open_pipe(int stream, bool child_reads);
};

void process_launch::open_pipe(int stream, bool child_reads) {
  int ends[2];
  if (const int error = driver_here().pipe(ends); error < 0)
    throw failure(kernel_error(error), "cannot make a pipe for a child");
  const int ours = child_reads ? ends[1] : ends[0];
  int& theirs = child_ends[stream] = child_reads ? ends[0] : ends[1];
  if (theirs <= STDERR_FILENO) {  // closed in this process: the child's streams are made there
    const int above = ::fcntl(theirs, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (above < 0) {
      const int error = -errno;
      driver_here().close(ours, worker::here());
      throw failure(kernel_error(error), "cannot make a pipe for a child");
    }
    driver_here().close(std::exchange(theirs, above), worker::here());
  }
  // Programs expect standard streams that block; ours is another open file, and stays as it is.
  ::fcntl(theirs, F_SETFL, ::fcntl(theirs, F_GETFL) & ~O_NONBLOCK);
  if (stream == 0) {
    child.input_ = pipe_writer(ours);
  } else {
    (stream == 1 ? child.output_ : child.errors_) = pipe_reader(ours);
  }
}

void process_launch::open_streams() {
  if (options.input_ == child_stream::pipe) open_pipe(0, true);
  if (options.output_ == child_stream::pipe) open_pipe(1, false);
  if (options.errors_ == child_stream::pipe) open_pipe(2, false);
}

void process_launch::gather_strings() {
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  const auto replaced = [&](const char* inherited) {
    return std::any_of(options.variables_.begin(), options.variables_.end(), [&](const auto& v) {
      return std::strncmp(inherited, v.c_str(), v.find('=') + 1) == 0;
    });
  };
  for (char** v = environ; *v != nullptr; ++v)
    if (!replaced(*v)) variables.push_back(*v);
  for (std::string& v : options.variables_) variables.push_back(v.data());
  variables.push_back(nullptr);
}

/// Sets SIGCHLD to its default if it is ignored, perhaps since before this program: the kernel
/// keeps no exit status for a parent that ignores it.
void keep_exit_statuses() noexcept {
  struct sigaction how{};
  if (::sigaction(SIGCHLD, nullptr, &how) != 0) return;
  const bool ignored = (how.sa_flags & SA_SIGINFO) == 0 && how.sa_handler == SIG_IGN;
  if (!ignored && (how.sa_flags & SA_NOCLDWAIT) == 0) return;
  if (ignored) how.sa_handler = SIG_DFL;
  how.sa_flags &= ~SA_NOCLDWAIT;
  ::sigaction(SIGCHLD, &how, nullptr);
}

std::int64_t process_launch::run() noexcept {
  keep_exit_statuses();
  ::posix_spawn_file_actions_t actions;
  ::posix_spawnattr_t attributes;
  if (const int error = ::posix_spawn_file_actions_init(&actions); error != 0) return -error;
  if (const int error = ::posix_spawnattr_init(&attributes); error != 0) {
    ::posix_spawn_file_actions_destroy(&actions);
    return -error;
  }
  int error = 0;
  const auto step = [&error](int status) {
    if (error == 0) error = status;
  };
  const child_stream streams[3] = {options.input_, options.output_, options.errors_};
  for (int i = 0; i < 3; ++i) {
    if (streams[i] == child_stream::pipe)
      step(::posix_spawn_file_actions_adddup2(&actions, child_ends[i], i));
    if (streams[i] == child_stream::null)
      step(::posix_spawn_file_actions_addopen(&actions, i, "/dev/null",
                                              i == 0 ? O_RDONLY : O_WRONLY, 0));
  }
  if (!options.directory_.empty())
    step(::posix_spawn_file_actions_addchdir_np(&actions, options.directory_.c_str()));
  sigset_t none, defaults;
  ::sigemptyset(&none);
  ::sigemptyset(&defaults);
  ::sigaddset(&defaults, SIGPIPE);  // the runtime ignores it, and ignoring would be inherited
  step(::posix_spawnattr_setsigmask(&attributes, &none));
  step(::posix_spawnattr_setsigdefault(&attributes, &defaults));
  step(::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  pid_t pid = -1;
  if (error == 0)
    step(::posix_spawnp(&pid, arguments[0], &actions, &attributes, arguments.data(),
                        variables.data()));
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return error != 0 ? -error : pid;
}

process process_launch::finish(int pid) noexcept {
  state->pid = pid;
  child.state_ = std::move(state);
  spawn(std::move(collector));
  return std::move(child);
}

task<process> spawn_process(command_line command, process_options options) {
  process_launch launch(std::move(command), std::move(options));
  if (launch.command.empty())
    throw failure(std::make_error_code(std::errc::invalid_argument), "a command names no program");
  for (const std::string& each : launch.command)
    if (each.find('\0') != std::string::npos)
      throw failure(std::make_error_code(std::errc::invalid_argument),
                    "a command has a zero byte behind \"" + std::string(each.c_str()) + "\"");
  if (driver_here().simulated())
    throw failure(std::make_error_code(std::errc::operation_not_supported),
                  "the simulated world has no other processes: " + launch.command[0]);
  launch.open_streams();
  launch.gather_strings();
  one_operation starting(op_code::call, -1, "spawn");
  starting.more = &launch;
  starting.function = [](void* argument) noexcept {
    return static_cast<process_launch*>(argument)->run();
  };
  const std::int64_t pid = co_await starting;
  if (pid < 0)
    throw failure(kernel_error(static_cast<int>(pid)), "cannot run " + launch.what_and_where());
  co_return launch.finish(static_cast<int>(pid));
}

}  // namespace heddle
