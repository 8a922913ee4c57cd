// SPDX-License-Identifier: MIT
// The driver gives an open file's path; the served folder's path is removed from its front.
#include "heddle/web/detail/hidden_path.hh"

#include <string>

#include "heddle/io/detail/files_here.hh"
#include "heddle/io/detail/unfinished_name.hh"

namespace heddle::http {
namespace {

constexpr std::string_view for_visitors = "/.well-known";

}  // namespace

bool hidden_path(std::string_view path) noexcept {
  if (path.starts_with(for_visitors)) {
    const std::string_view rest = path.substr(for_visitors.size());
    if (rest.empty() || rest.starts_with('/')) path = rest;
  }
  return path.find("/.") != path.npos;
}

bool withheld_name(std::string_view name, bool shows_hidden) noexcept {
  return shows_hidden ? heddle::detail::is_unfinished(name) : name.starts_with('.');
}

bool withheld_path(std::string_view path, bool shows_hidden) noexcept {
  return shows_hidden ? heddle::detail::is_unfinished(path.substr(path.rfind('/') + 1))
                      : hidden_path(path);
}

bool opened_hidden(int folder, int file) noexcept {
  driver_files& files = heddle::detail::files_here();
  std::string above, at;
  if (files.path_of(folder, above) < 0 || files.path_of(file, at) < 0) return true;
  if (above == "/") above.clear();
  if (!at.starts_with(above)) return true;
  const std::string_view beneath = std::string_view(at).substr(above.size());
  return (!beneath.empty() && !beneath.starts_with('/')) || hidden_path(beneath);
}

}  // namespace heddle::http
