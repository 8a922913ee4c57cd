// SPDX-License-Identifier: MIT
// Chooses the handler of a request by method and path pattern. Each route has its own limits, and
// middleware can surround handlers. The router itself answers 404, 405 with Allow, OPTIONS and
// HEAD, and 415 to a QUERY in a form that its route does not take.
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
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/web/server.hh"

namespace heddle::http {

class router;

/// Limits of one route. 0 means the server's own limit, or no limit for `timeout`.
struct route_options {
  std::uint64_t body_bytes_max = 0;  ///< over: 413, before the handler if it was announced
  nanoseconds body_timeout{};  ///< how long the client may send nothing of its body; over: 408
  nanoseconds timeout{};       ///< from the handler's call to its return; over: 503
  /// For QUERY: the media types of bodies that the handler reads, such as "application/json,
  /// text/plain", as Accept-Query lists them (RFC 10008 section 3). Others get 415. "": any type.
  std::string_view query_types = {};  // text that outlives the router, usually a literal
};

/// The remaining middleware and the handler. A middleware calls it once, or answers without it.
class next {
 public:
  next(const router& on, std::size_t layer) noexcept : on_(&on), layer_(layer) {}
  [[nodiscard]] task<response> operator()(request& r) const;

 private:
  const router* on_;
  std::size_t layer_;
};

/// A function around handlers. The surrounding layer gets its response or its exception.
///
///   task<response> only_members(request& r, next go_on) {
///     if (!r.cookie("session")) throw status_error(401, "log in first");
///     co_return co_await go_on(r);
///   }
using middleware = std::function<task<response>(request&, next)>;

/// A pattern is a path of segments: text, {name} for one whole non-empty segment, and {name...} at
/// the end for the rest of the path, which may be empty. Text takes precedence over {name}, and
/// {name} over {name...}. Segments are compared after decoding; "/a" and "/a/" are different paths.
///
/// Thread: one color; do not change it while it serves. Owns: its handlers. A router is a handler
/// itself: give it, or std::ref of it, to a server.
class router {
 public:
  router();

  /// Adds a route. Asserts that the pattern is well formed and that the route is new.
  router& on(std::string_view method, std::string_view pattern, handler h, route_options o = {},
             std::source_location where = std::source_location::current());
  router& get(std::string_view pattern, handler h, route_options o = {},
              std::source_location where = std::source_location::current()) {
    return on("GET", pattern, std::move(h), o, where);
  }
  router& post(std::string_view pattern, handler h, route_options o = {},
               std::source_location where = std::source_location::current()) {
    return on("POST", pattern, std::move(h), o, where);
  }
  router& put(std::string_view pattern, handler h, route_options o = {},
              std::source_location where = std::source_location::current()) {
    return on("PUT", pattern, std::move(h), o, where);
  }
  router& patch(std::string_view pattern, handler h, route_options o = {},
                std::source_location where = std::source_location::current()) {
    return on("PATCH", pattern, std::move(h), o, where);
  }
  /// Adds a route for QUERY: a safe request whose question is in the body (RFC 10008). A QUERY
  /// without Content-Type gets 400. Answers that refuse one, and those to OPTIONS, list
  /// o.query_types in Accept-Query.
  router& query(std::string_view pattern, handler h, route_options o = {},
                std::source_location where = std::source_location::current()) {
    return on("QUERY", pattern, std::move(h), o, where);
  }
  router& delete_(std::string_view pattern, handler h, route_options o = {},
                  std::source_location where = std::source_location::current()) {
    return on("DELETE", pattern, std::move(h), o, where);
  }
  /// Adds a route for all methods that have no route of their own for this pattern.
  router& any(std::string_view pattern, handler h, route_options o = {},
              std::source_location where = std::source_location::current()) {
    return on("", pattern, std::move(h), o, where);
  }

  /// Surrounds every request, even those without a route; the first added is the outermost.
  router& use(middleware m) { return use("/", std::move(m)); }
  /// Surrounds requests for this path and all paths below it.
  router& use(std::string_view prefix, middleware m);

  [[nodiscard]] task<response> operator()(request& r) const { return answer(r); }

 private:
  friend class next;
  struct endpoint {
    std::string method;  // "": any
    std::vector<std::string> names;
    handler answer;
    route_options options;
    callee answers;  // names the handler in reports
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
  [[nodiscard]] static std::optional<response> refuse_query(const endpoint& to, request& r);
  [[nodiscard]] task<response> call(const endpoint& to, request& r) const;
  std::uint32_t child(std::uint32_t of, std::string_view text);

  std::vector<node> nodes_;
  std::vector<endpoint> endpoints_;
  std::vector<layer> layers_;
};

}  // namespace heddle::http
