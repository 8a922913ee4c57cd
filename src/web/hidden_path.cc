// SPDX-License-Identifier: MIT
// The driver gives an open file's path; the served folder's path is removed from its front.
#include "heddle/web/detail/hidden_path.hh"

#include <string>

#include "heddle/io/detail/files_here.hh"

namespace heddle::http {
namespace {

constexpr std::string_view for_visitors = "/.well-known";
constexpr std::size_t digits = 16;  // as name_beside() in io/file.cc

/// Whether a file of this name may be half written.
bool is_unfinished(std::string_view name) noexcept {
  if (name.size() < digits + 3 || name.front() != '.') return false;
  const std::size_t number = name.size() - digits;
  return name[number - 1] == '.' &&
         name.find_first_not_of("0123456789abcdef", number) == std::string_view::npos;
}

}  // namespace

bool hidden_path(std::string_view path) noexcept {
  if (path.starts_with(for_visitors)) {
    const std::string_view rest = path.substr(for_visitors.size());
    if (rest.empty() || rest.starts_with('/')) path = rest;
  }
  return path.find("/.") != path.npos;
}

bool withheld_name(std::string_view name, bool shows_hidden) noexcept {
  return shows_hidden ? is_unfinished(name) : name.starts_with('.');
}

bool withheld_path(std::string_view path, bool shows_hidden) noexcept {
  return shows_hidden ? is_unfinished(path.substr(path.rfind('/') + 1)) : hidden_path(path);
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
