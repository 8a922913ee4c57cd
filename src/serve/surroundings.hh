// SPDX-License-Identifier: MIT
// The place where a service runs, as the service knows it beside its runtime: environment
// variables, the streams for messages, and sockets that were open before. main() makes it of the
// process, a node of a simulation of its own values.
#pragma once

#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle::serve {

/// Takes text for people, with its line ends.
using text_sink = std::function<void(std::string_view)>;

struct surroundings_options {
  std::vector<std::string> variables = {};  ///< "NAME=VALUE"
  text_sink messages = {};                  ///< standard error; empty: nowhere
  text_sink output = {};                    ///< standard output
  bool interactive = false;  ///< a person sees the messages: another free port will do
  long sockets = 0;          ///< from the service manager, from descriptor 3 (sd_listen_fds(3))
};

/// Thread: any; the sinks are called by one thread at a time.
class surroundings {
 public:
  surroundings() : surroundings(surroundings_options()) {}
  explicit surroundings(surroundings_options options) : options_(std::move(options)) {}

  [[nodiscard]] const std::vector<std::string>& variables() const noexcept {
    return options_.variables;
  }
  [[nodiscard]] std::optional<std::string_view> variable(std::string_view name) const;
  [[nodiscard]] bool interactive() const noexcept { return options_.interactive; }
  [[nodiscard]] long sockets() const noexcept { return options_.sockets; }

  void print(std::string_view text);
  void print_output(std::string_view text);
  /// Prints in the form of source/print_error.hh.
  void print_error(std::string_view what, std::string_view help);
  /// Prints a line with the time of day. A line about an upstream comes from each worker, and is
  /// printed once in 2 s.
  void report(std::string_view line);

 private:
  surroundings_options options_;
  std::mutex mutex_;
  std::vector<std::pair<std::time_t, std::string>> recent_;
};

/// The surroundings of this process. Takes the variables of the service manager out of the
/// environment, so that child processes do not use them.
[[nodiscard]] std::shared_ptr<surroundings> process_surroundings();

}  // namespace heddle::serve
