// SPDX-License-Identifier: MIT
// Connects the overload control to the server: asks it before each request, holds the answer to
// refused requests, queues the marks that its meter needs, and delays new connections.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/core/deadline.hh"
#include "heddle/core/scope.hh"
#include "heddle/core/task.hh"
#include "heddle/http/response.hh"
#include "heddle/io/unix.hh"
#include "heddle/web/overload.hh"

namespace heddle::http {

struct server_counters;

/// Thread: one color. Owns: the control, the prepared refusal (always text, because choosing a
/// format by the request would cost too much), and both ends of the meter's probe. Fails: the
/// constructor throws if options.headers cannot be sent.
class load_shedding {
 public:
  load_shedding(const overload_options& options, server_counters& counters);

  [[nodiscard]] overload_control& control() noexcept { return control_; }

  /// Whether to begin a request. If false, answer it with refusal().
  [[nodiscard]] bool admit(const request_head& head, overload_control::credit& of_connection);
  [[nodiscard]] response refusal() const;
  /// See server::change_refusals().
  void change_headers(const std::vector<std::pair<std::string, std::string>>& headers);

  /// Spawns the meter's marks in this scope until stop_measuring().
  void start_measuring(scope& tasks);
  void stop_measuring() noexcept;
  [[nodiscard]] bool measuring() const noexcept { return tasks_ != nullptr; }

  /// Waits while there are already as many requests as can begin in time, or until `ended`.
  [[nodiscard]] task<> hold_accepting(cancel_source& ended);

 private:
  [[nodiscard]] static task<> watch_turn(load_shedding& self);

  const overload_options& options_;
  server_counters& counters_;
  overload_control control_;
  scope* tasks_ = nullptr;
  unix_stream probe_in_;
  unix_stream probe_out_;
  piece refusal_lines_;
  piece refusal_body_;
};

}  // namespace heddle::http
