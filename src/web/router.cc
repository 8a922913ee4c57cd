// SPDX-License-Identifier: MIT
// A tree of segments. The search visits a node at most once for each way that leads to it, and goes
// back if a more exact segment led to no route.
#include "heddle/web/router.hh"

#include <algorithm>

#include "heddle/core/deadline.hh"
#include "web/exchange.hh"
#include "web/route_match.hh"

namespace heddle::http {
namespace {

task<response> ready(response r) { co_return r; }

task<response> call_bounded(const handler& h, request& r, nanoseconds bound) {
  co_return co_await with_timeout(h(r), bound);
}

// The segments of a pattern or prefix, not decoded.
std::vector<std::string_view> segments_of(std::string_view path) {
  HEDDLE_ASSERT(path.starts_with('/'), "a pattern starts with a slash");
  std::vector<std::string_view> all;
  for (std::size_t at = 1; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    all.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  HEDDLE_ASSERT(all.size() < route_match::segments_max, "a pattern has at most 31 segments");
  return all;
}

constexpr std::string_view usual_methods[] = {"GET",   "HEAD",   "POST", "PUT",
                                              "PATCH", "DELETE", "QUERY"};

// A media type without its parameters.
std::string_view type_alone(std::string_view text) {
  text = text.substr(0, text.find(';'));
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

// Whether a list of media types contains that of a Content-Type.
bool lists_type(std::string_view types, std::string_view content_type) {
  for (std::string_view one; take_list_element(types, one);)
    if (equal_ignoring_case(type_alone(one), type_alone(content_type))) return true;
  return false;
}

}  // namespace

/// The state of one search for a route.
struct router::search {
  const router& in;
  route_match& match;
  std::string_view method;
  const endpoint* found = nullptr;
  const endpoint* fallback = nullptr;  // GET for HEAD, or a route for any method
  std::vector<std::string_view> allowed = {};
  std::string_view query_types = {};  // types of the path's route for QUERY

  void look_at(const std::vector<std::uint32_t>& ends) {
    for (const std::uint32_t number : ends) {
      const endpoint& e = in.endpoints_[number];
      if (e.method == method) {
        found = &e;
        return;
      }
      if (e.method.empty() || (e.method == "GET" && method == "HEAD")) fallback = &e;
      allowed.push_back(e.method);
      if (e.method == "QUERY") query_types = e.options.query_types;
    }
    found = fallback;
  }

  /// Searches from the node `at`, after `i` segments and `params` parameters.
  bool walk(std::uint32_t at, std::size_t i, std::size_t params) {
    const node& n = in.nodes_[at];
    if (i == match.count()) {
      look_at(n.ends);
      return found != nullptr;
    }
    const std::string_view segment = match.segment(i);
    if (!match.cut() || i + 1 < match.count()) {
      const auto text = std::ranges::lower_bound(
          n.texts, segment, {}, [](const auto& entry) { return std::string_view(entry.first); });
      if (text != n.texts.end() && text->first == segment && walk(text->second, i + 1, params))
        return true;
      if (n.parameter != 0 && !segment.empty() && walk(n.parameter, i + 1, params + 1)) {
        match.set_param(params, segment);
        return true;
      }
    }
    look_at(n.tails);
    if (found != nullptr) match.set_param(params, match.tail(i));
    return found != nullptr;
  }

  /// The value of Allow: the methods of the path's routes.
  [[nodiscard]] std::string allow() const {
    std::string list;
    const auto add = [&list](std::string_view name) {
      if (!list.empty()) list += ", ";
      list += name;
    };
    const auto has = [this](std::string_view name) {
      return std::ranges::find(allowed, name) != allowed.end();
    };
    for (const std::string_view name : usual_methods)
      if (has(name) || (name == "HEAD" && has("GET"))) add(name);
    std::vector<std::string_view> others;
    for (const std::string_view name : allowed)
      if (std::ranges::find(usual_methods, name) == std::end(usual_methods) && name != "OPTIONS" &&
          std::ranges::find(others, name) == others.end())
        others.push_back(name);
    for (const std::string_view name : others) add(name);
    add("OPTIONS");
    return list;
  }
};

router::router() : nodes_(1) {}

std::uint32_t router::child(std::uint32_t of, std::string_view text) {
  const auto next_number = static_cast<std::uint32_t>(nodes_.size());
  if (text.starts_with('{')) {
    if (nodes_[of].parameter == 0) {
      nodes_[of].parameter = next_number;
      nodes_.emplace_back();
    }
    return nodes_[of].parameter;
  }
  auto& texts = nodes_[of].texts;
  const auto at = std::ranges::lower_bound(
      texts, text, {}, [](const auto& entry) { return std::string_view(entry.first); });
  if (at != texts.end() && at->first == text) return at->second;
  texts.emplace(at, std::string(text), next_number);
  nodes_.emplace_back();
  return next_number;
}

router& router::on(std::string_view method, std::string_view pattern, handler h, route_options o,
                   std::source_location where) {
  HEDDLE_ASSERT(method.empty() || token_valid(method), "a method is a token such as GET");
  HEDDLE_ASSERT(static_cast<bool>(h), "a route needs a handler");
  const callee answers = callee_of(h, site_of(where));
  endpoint e{std::string(method), {}, std::move(h), o, answers};
  const auto number = static_cast<std::uint32_t>(endpoints_.size());
  std::uint32_t at = 0;
  bool tail = false;
  for (std::string_view segment : segments_of(pattern)) {
    HEDDLE_ASSERT(!tail, "{name...} is allowed only at the end of a pattern");
    if (segment.starts_with('{')) {
      HEDDLE_ASSERT(segment.ends_with('}'), "{name} takes a whole segment");
      std::string_view name = segment.substr(1, segment.size() - 2);
      tail = name.ends_with("...");
      if (tail) name.remove_suffix(3);
      HEDDLE_ASSERT(!name.empty(), "a parameter of a pattern has a name");
      e.names.emplace_back(name);
    }
    if (!tail) at = child(at, segment);
  }
  std::vector<std::uint32_t>& ends = tail ? nodes_[at].tails : nodes_[at].ends;
  for (const std::uint32_t other : ends)
    HEDDLE_ASSERT(endpoints_[other].method != method, "this method and pattern have a route");
  ends.push_back(number);
  endpoints_.push_back(std::move(e));
  return *this;
}

router& router::use(std::string_view prefix, middleware m) {
  layer l{{}, std::move(m)};
  for (const std::string_view segment : segments_of(prefix)) l.prefix.emplace_back(segment);
  std::erase(l.prefix, "");  // "/a/" means "/a", "/" means every path
  layers_.push_back(std::move(l));
  return *this;
}

task<response> next::operator()(request& r) const { return on_->run(r, layer_); }

task<response> router::answer(request& r) const {
  route_match match;
  const bool has_path = r.head().form() != target_form::asterisk && r.verb() != method::connect;
  const std::string_view wrong = has_path ? match.take(r.path()) : std::string_view{};
  if (!wrong.empty()) co_return r.error(400, wrong);
  const route_match* const outer = std::exchange(r.match_, &match);
  struct restore {
    request& of;
    const route_match* to;
    ~restore() { of.match_ = to; }
  } const at_end{r, outer};
  co_return co_await run(r, 0);
}

task<response> router::run(request& r, std::size_t from) const {
  while (from < layers_.size() && !r.match_->beneath(layers_[from].prefix)) ++from;
  if (from < layers_.size()) return layers_[from].around(r, next(*this, from + 1));
  return route(r);
}

task<response> router::route(request& r) const {
  // Only this router's answer() sets it, and the object is not const.
  search s{*this, const_cast<route_match&>(*r.match_), r.head().method_text()};
  if (r.head().form() == target_form::asterisk) {
    for (const endpoint& e : endpoints_) s.allowed.push_back(e.method);
    return ready(response(204).header("Allow", s.allow()));
  }
  if (r.verb() == method::connect) return ready(r.error(501, "this server is no proxy"));
  if (s.walk(0, 0, 0)) {
    s.match.name_params(s.found->names);
    return call(*s.found, r);
  }
  if (s.allowed.empty()) return ready(r.error(404, "there is nothing here by this name"));
  response other = r.verb() == method::options
                       ? response(204)
                       : r.error(405, "this resource does not take the method; see Allow");
  other.header("Allow", s.allow());
  if (!s.query_types.empty()) other.header("Accept-Query", s.query_types);
  return ready(std::move(other));
}

/// Refuses a QUERY, unless its body has a type that the route takes.
std::optional<response> router::refuse_query(const endpoint& to, request& r) {
  const std::string_view types = to.options.query_types;
  const std::string_view type = r.header(header_id::content_type);
  std::optional<response> refusal;
  if (type.empty()) {
    refusal = r.error(400, "a QUERY names the type of its body in Content-Type");
  } else if (!types.empty() && !lists_type(types, type)) {
    refusal = r.error(415, "this resource does not take questions of this type; see Accept-Query");
  }
  if (refusal && !types.empty()) refusal->header("Accept-Query", types);
  return refusal;
}

task<response> router::call(const endpoint& to, request& r) const {
  const route_options& o = to.options;
  if (r.verb() == method::query && to.method == "QUERY") {
    std::optional<response> refusal = refuse_query(to, r);
    if (refusal) return ready(std::move(*refusal));
  }
  if (o.body_bytes_max != 0) r.limit_body(o.body_bytes_max);
  if (o.body_timeout > nanoseconds::zero()) r.limit_body_pause(o.body_timeout);
  if (r.head().content_length() > r.body_limit())
    return ready(r.error(413, "the body is larger than this resource takes"));
  r.on_->begin_handler(to.answers);
  if (o.timeout > nanoseconds::zero()) return call_bounded(to.answer, r, o.timeout);
  return to.answer(r);
}

}  // namespace heddle::http
