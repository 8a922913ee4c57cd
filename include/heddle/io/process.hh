// SPDX-License-Identifier: MIT
// Child processes, waited for by pidfd: no signal handler, no polling, and a process without a
// waiting task is still collected.
//
//   process p = co_await spawn_process({"ls", "-l"}, process_options().output(child_stream::pipe));
//   line_reader lines(p.output());
//   exit_status how = co_await p.wait();
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/task.hh"
#include "heddle/io/pipe.hh"

namespace heddle {

/// A program and its arguments: {"ls", "-l"}, or a vector of strings.
class command_line {
 public:
  template <class... Words>
    requires(sizeof...(Words) >= 1 && (std::convertible_to<const Words&, std::string_view> && ...))
  command_line(const Words&... words) {
    words_.reserve(sizeof...(Words));
    (words_.emplace_back(std::string_view(words)), ...);
  }
  command_line(std::vector<std::string> words) noexcept : words_(std::move(words)) {}

 private:
  friend struct process_launch;
  std::vector<std::string> words_;
};

/// Where a child's standard input, output or errors go.
enum class child_stream : std::uint8_t {
  inherit,  ///< where ours go
  null,     ///< nowhere; input is empty
  pipe,     ///< to us: process::input(), output(), errors()
};

/// How a child starts. The default inherits everything.
class process_options {
 public:
  process_options() noexcept {}

  process_options& input(child_stream s) noexcept { return input_ = s, *this; }
  process_options& output(child_stream s) noexcept { return output_ = s, *this; }
  process_options& errors(child_stream s) noexcept { return errors_ = s, *this; }
  /// The child's working directory.
  process_options& directory(std::string path) { return directory_ = std::move(path), *this; }
  /// Sets one variable, in addition to the inherited ones or in place of one.
  process_options& variable(std::string name, std::string value);

 private:
  friend struct process_launch;
  child_stream input_ = child_stream::inherit;
  child_stream output_ = child_stream::inherit;
  child_stream errors_ = child_stream::inherit;
  std::string directory_;
  std::vector<std::string> variables_;  // NAME=value
};

/// How a process ended.
struct exit_status {
  int code = 0;    ///< the value that it returned, 0 when a signal ended it
  int signal = 0;  ///< the signal that ended it, 0 when it returned
  [[nodiscard]] bool success() const noexcept { return code == 0 && signal == 0; }
};

namespace detail {
class process_state;
}

/// Waits for the end of a process. Cancel: at once; the process goes on.
class [[nodiscard("co_await it")]] exit_wait : public wait {
 public:
  exit_wait(std::shared_ptr<detail::process_state> of) noexcept;
  exit_wait(exit_wait&& other) noexcept;
  ~exit_wait();

  [[nodiscard]] static bool await_ready() noexcept { return false; }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> h) noexcept;
  exit_status await_resume() const;
  [[nodiscard]] result<exit_status> await_result() const noexcept;

 private:
  friend class detail::process_state;
  struct node : list_node {
    explicit node(exit_wait& w) noexcept : owner(w) {}
    exit_wait& owner;
  };
  static void asked_to_end(wait& x, worker& w) noexcept;
  static const wait_kind kind_of_wait;

  std::shared_ptr<detail::process_state> state_;
  node node_;
  bool canceled_ = false;
};

/// A child. The handle may go before the child does: the child runs on, and is collected.
///
/// Thread: one color. Owns: our ends of its pipes.
/// Fails: wait() with no_child_process when something else in this program collected it.
class process {
 public:
  process() noexcept = default;

  /// Waits for the end of the process. Several tasks may wait, before and after it has ended.
  [[nodiscard]] exit_wait wait() const noexcept { return exit_wait(state_); }
  /// Sends a signal; nothing happens to a process that has ended.
  void kill(int signal) const;

  [[nodiscard]] int id() const noexcept;
  [[nodiscard]] bool ended() const noexcept;
  /// Our ends of the child's pipes; closed unless a pipe was asked for. The child sees the end of
  /// its input when input() is closed.
  [[nodiscard]] pipe_writer& input() noexcept { return input_; }
  [[nodiscard]] pipe_reader& output() noexcept { return output_; }
  [[nodiscard]] pipe_reader& errors() noexcept { return errors_; }

 private:
  friend struct process_launch;
  std::shared_ptr<detail::process_state> state_;
  pipe_writer input_;
  pipe_reader output_;
  pipe_reader errors_;
};

/// Starts a program, found on PATH; the first argument is its name. Signals are as at the start of
/// a program: none blocked, SIGPIPE not ignored. If this process ignores SIGCHLD (perhaps because
/// its parent did) or has SA_NOCLDWAIT, that is set to the default, because the kernel keeps no
/// exit status otherwise. Without a free descriptor for the child, its end is looked for every
/// 20 ms.
///
/// Cancel: only before it starts. Fails: as the system says, naming the program, when it cannot be
/// run; operation_not_supported under the simulation driver.
[[nodiscard]] task<process> spawn_process(command_line command, process_options options = {});

}  // namespace heddle
