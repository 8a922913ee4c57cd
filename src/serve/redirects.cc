// SPDX-License-Identifier: MIT
// Parses rules of redirection and applies them.
#include "serve/redirects.hh"

#include <algorithm>
#include <array>

#include "heddle/http/uri.hh"
#include "serve/values.hh"

namespace heddle::serve {
namespace {

constexpr std::array statuses = {301, 302, 303, 307, 308};

bool printable(std::string_view text) noexcept {
  return std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

redirect_rule redirect_rule::parse(std::string_view text) {
  const std::vector<std::string_view> words = words_of(text);
  if (words.size() < 2 || words.size() > 3)
    throw bad_setting("write \"FROM TO\" or \"FROM TO STATUS\": \"/old/* /new/* 308\"");
  redirect_rule rule{path_pattern(words[0]), std::string(words[1])};
  const bool absolute = rule.to.starts_with("https://") || rule.to.starts_with("http://");
  if ((!absolute && !rule.to.starts_with('/')) || !printable(rule.to))
    throw bad_setting("'" + rule.to + "' is no place to go; write /path or https://host/path");
  if (absolute && rule.to.find('*') < rule.to.find('/', rule.to.find("//") + 2))
    throw bad_setting("'" + rule.to +
                      "': a * in the name of the host lets a visitor choose the host; write it "
                      "behind a slash: https://host/*");
  if (std::ranges::count(rule.to, '*') > (rule.from.has_star() ? 1 : 0))
    throw bad_setting("'" + rule.to + "': its * means the * of '" + std::string(words[0]) +
                      "', once");
  if (words.size() == 3) {
    rule.status = static_cast<int>(number(words[2], "status; write 301, 302, 303, 307 or 308"));
    if (std::ranges::find(statuses, rule.status) == statuses.end())
      throw bad_setting("a redirection has status 301, 302, 303, 307 or 308");
  }
  return rule;
}

std::string redirect_rule::location(std::string_view path, std::string_view query) const {
  const auto rest = from.rest_of(path);
  if (!rest) return {};
  std::string place = to;
  if (const std::size_t star = place.find('*'); star != place.npos) place.replace(star, 1, *rest);
  const std::size_t fragment = std::min(place.find('#'), place.size());
  if (!query.empty() && place.find('?') >= fragment)
    place.insert(fragment, std::string("?").append(query));
  if (place.starts_with('/')) return http::own_location(place);
  const std::size_t host_end =
      std::min(place.find_first_of("/?#", place.find("//") + 2), place.size());
  return http::own_location(std::string_view(place).substr(host_end), place.substr(0, host_end));
}

flow redirects::on_asked(question& q) {
  const std::string_view path = q.request.path();
  for (const redirect_rule& rule : rules_) {
    const std::string place = rule.location(path, q.request.query());
    if (place.empty()) continue;
    // The folder refuses such a path with its reason.
    std::string room(path.size(), '\0');
    if (!http::decode_path(path, room,
                           {.slashes = http::encoded_slash::keep, .encoded_backslash = true}))
      return flow::go_on;
    http::response r = http::error_response(rule.status, "this page is elsewhere");
    r.header("Location", place);
    return answer_at_once(bus_, q, std::move(r));
  }
  return flow::go_on;
}

}  // namespace heddle::serve
