// SPDX-License-Identifier: MIT
// One `*`, at the end or at the beginning: more would need an explanation.
#include "serve/pattern.hh"

#include "heddle/http/uri.hh"
#include "serve/values.hh"

namespace heddle::serve {

path_pattern::path_pattern(std::string_view text) : fixed_(text) {
  if (text.ends_with('*')) {
    star_ = star::last;
    fixed_.pop_back();
  } else if (text.starts_with('*')) {
    star_ = star::first;
    fixed_.erase(0, 1);
  }
  const bool rooted = star_ == star::first ? !fixed_.empty() : fixed_.starts_with('/');
  if (!rooted || fixed_.find('*') != fixed_.npos)
    throw bad_setting("'" + std::string(text) + "' is no path; write /page, /folder/* or *.woff2");
}

std::optional<std::string_view> path_pattern::rest_of(std::string_view path) const noexcept {
  switch (star_) {
    case star::none:
      if (path != fixed_) return std::nullopt;
      return std::string_view();
    case star::last:
      if (!path.starts_with(fixed_)) return std::nullopt;
      return path.substr(fixed_.size());
    case star::first:
      if (!path.ends_with(fixed_)) return std::nullopt;
      return path.substr(0, path.size() - fixed_.size());
  }
  return std::nullopt;
}

std::optional<std::string> path_pattern::folder() const {
  if (star_ == star::first) return std::nullopt;
  return fixed_.substr(0, fixed_.rfind('/') + 1);
}

std::string path_pattern::text() const {
  return (star_ == star::first ? "*" : "") + fixed_ + (star_ == star::last ? "*" : "");
}

bool path_pattern::leads_to(std::string_view raw) const {
  if (matches(raw)) return true;
  std::string room(raw.size(), '\0');
  const auto decoded = http::decode_path(
      raw, room, {.slashes = http::encoded_slash::keep, .encoded_backslash = true});
  return !decoded || matches(*decoded);
}

}  // namespace heddle::serve
