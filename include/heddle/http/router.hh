// SPDX-License-Identifier: MIT
// Which handler answers which request: methods and patterns of paths, each route with its own
// limits, and middleware around them. 404, 405 with Allow, OPTIONS and HEAD need no code.
//
//   http::router routes;
//   routes.get("/notes/{id}", show_note);                 // r.param<int>("id")
//   routes.post("/notes", add_note, {.body_bytes_max = 64 * 1024, .timeout = 5s});
//   routes.get("/files/{path...}", send_file);            // everything below
//   routes.use(log_request);
//   co_await http::serve(std::move(door), std::move(routes));
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/http/server.hh"

namespace heddle::http {

class router;

/// What one route allows its clients; 0 stands for the server's own limit, or none.
struct route_options {
  std::uint64_t body_bytes_max = 0;  ///< 413 beyond it, before the handler when it was announced
  nanoseconds body_timeout{};        ///< how long the client may send nothing of its body: 408
  nanoseconds timeout{};             ///< from the handler's call to its return: 503
};

/// The rest of the way to the handler, for middleware: call it once, or answer without it.
class next {
 public:
  next(const router& on, std::size_t layer) noexcept : on_(&on), layer_(layer) {}
  [[nodiscard]] task<response> operator()(request& r) const;

 private:
  const router* on_;
  std::size_t layer_;
};

/// A plain function around handlers. What it throws or returns goes to the layer outside of it.
///
///   task<response> only_members(request& r, next go_on) {
///     if (!r.cookie("session")) throw status_error(401, "log in first");
///     co_return co_await go_on(r);
///   }
using middleware = std::function<task<response>(request&, next)>;

/// A pattern is a path of segments: text, {name} for one whole segment that is not empty, and
/// {name...} at the end for all the rest, which may be empty. Text goes before {name}, {name}
/// before {name...}. Segments are compared decoded; "/a" and "/a/" are two paths.
///
/// Thread: one color; it is not changed while it serves. Owns: its handlers. It is a handler
/// itself: give it, or std::ref of it, to a server.
class router {
 public:
  router();

  /// Asserts that the pattern is well formed and that the route is new.
  router& on(std::string_view method, std::string_view pattern, handler h, route_options o = {});
  router& get(std::string_view pattern, handler h, route_options o = {}) {
    return on("GET", pattern, std::move(h), o);
  }
  router& post(std::string_view pattern, handler h, route_options o = {}) {
    return on("POST", pattern, std::move(h), o);
  }
  router& put(std::string_view pattern, handler h, route_options o = {}) {
    return on("PUT", pattern, std::move(h), o);
  }
  router& patch(std::string_view pattern, handler h, route_options o = {}) {
    return on("PATCH", pattern, std::move(h), o);
  }
  router& delete_(std::string_view pattern, handler h, route_options o = {}) {
    return on("DELETE", pattern, std::move(h), o);
  }
  /// Whatever the method is, unless a route names it.
  router& any(std::string_view pattern, handler h, route_options o = {}) {
    return on("", pattern, std::move(h), o);
  }

  /// Around every request, also one that no route takes; the first one is outermost.
  router& use(middleware m) { return use("/", std::move(m)); }
  /// Around requests for this path and everything below it.
  router& use(std::string_view prefix, middleware m);

  [[nodiscard]] task<response> operator()(request& r) const { return answer(r); }

 private:
  friend class next;
  struct endpoint {
    std::string method;  // "": any
    std::vector<std::string> names;
    handler answer;
    route_options options;
  };
  struct node {
    std::vector<std::pair<std::string, std::uint32_t>> texts;  // sorted
    std::uint32_t parameter = 0;                               // 0: none
    std::vector<std::uint32_t> ends;                           // endpoints
    std::vector<std::uint32_t> tails;                          // endpoints with {name...}
  };
  struct layer {
    std::vector<std::string> prefix;
    middleware around;
  };
  struct search;

  [[nodiscard]] task<response> answer(request& r) const;
  [[nodiscard]] task<response> run(request& r, std::size_t layer) const;
  [[nodiscard]] task<response> route(request& r) const;
  [[nodiscard]] task<response> call(const endpoint& to, request& r) const;
  std::uint32_t child(std::uint32_t of, std::string_view text);

  std::vector<node> nodes_;
  std::vector<endpoint> endpoints_;
  std::vector<layer> layers_;
};

}  // namespace heddle::http
