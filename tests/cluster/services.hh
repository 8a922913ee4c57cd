// SPDX-License-Identifier: MIT
// The services of the heddle program as nodes of a simulated cluster, unchanged: with the words of
// their command lines, files of settings on the node's disk, and messages that a test can read.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heddle/client/client.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/scope.hh"
#include "heddle/core/sleep.hh"
#include "heddle/sim/cluster.hh"
#include "serve/run.hh"

namespace heddle::test {

using namespace std::chrono_literals;

struct service_options {
  std::string name;
  std::vector<std::string> words;           ///< of the command line, behind the verb
  std::vector<std::string> variables = {};  ///< "HEDDLE_SERVE_PORT=80"
  bool is_proxy = false;                    ///< heddle proxy instead of heddle serve
  /// A task in the same process, which begins before the service.
  std::function<task<>(sim::node&)> beside = {};
};

/// Runs a service while another task runs in its process.
inline task<int> run_beside(task<> other, task<int> service) {
  scope side;
  side.spawn(std::move(other));
  co_await sleep_for(1ms);  // until it has begun
  const int code = co_await std::move(service);
  side.cancel();
  static_cast<void>(co_await as_expected(side.join()));
  co_return code;
}

/// A node that runs a service. Its messages are appended to `said`, which outlives the cluster.
inline sim::node_options service_node(const service_options& o, std::string& said) {
  const auto program = [o, &said](sim::node& n) {
    serve::surroundings_options here{.variables = o.variables};
    here.messages = here.output = [&said](std::string_view text) { said += text; };
    task<int> service =
        serve::service_program(o.is_proxy ? serve::proxy_settings() : serve::serve_settings(),
                               o.words, std::make_shared<serve::surroundings>(std::move(here)));
    return o.beside ? run_beside(o.beside(n), std::move(service)) : std::move(service);
  };
  return {.name = o.name, .program = program, .service = true};
}

/// A node that runs this task, which is the test's view from outside.
template <class F>
sim::node_options user_node(F program) {
  return {
      .name = "user", .program = [program](sim::node& n) { return program(n); }, .spared = true};
}

/// The body of an answer with this status, or a text that says what came instead.
inline std::string body_of(const result<http::fetched>& got, int status = 200) {
  if (!got) return "no answer: " + got.error().message();
  if (got->status() != status) return "status " + std::to_string(got->status());
  return got->body;
}

inline task<std::string> get(http::client& web, std::string url) {
  const auto got = co_await as_expected(web.get(std::move(url)));
  co_return body_of(got);
}

inline task<result<http::fetched>> put(http::client& web, std::string url, std::string body) {
  http::outgoing what("PUT", std::move(url));
  what.body("application/octet-stream", std::move(body));
  co_return co_await as_expected(web.send(std::move(what)));
}

}  // namespace heddle::test
