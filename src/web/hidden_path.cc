// SPDX-License-Identifier: MIT
// The kernel gives an open file's path through /proc; the served folder's path is removed from its
// front.
#include "heddle/web/detail/hidden_path.hh"

#include <unistd.h>

#include <array>
#include <climits>
#include <cstdio>

namespace heddle::http {
namespace {

constexpr std::string_view for_visitors = "/.well-known";

/// The path of an open file; empty if the kernel cannot tell it.
class opened_path {
 public:
  explicit opened_path(int fd) noexcept {
    char name[32];
    std::snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    const ssize_t got = ::readlink(name, text_.data(), text_.size());
    if (got > 0 && static_cast<std::size_t>(got) < text_.size())
      size_ = static_cast<std::size_t>(got);
  }
  [[nodiscard]] std::string_view text() const noexcept { return {text_.data(), size_}; }

 private:
  std::array<char, PATH_MAX> text_;
  std::size_t size_ = 0;
};

}  // namespace

bool hidden_path(std::string_view path) noexcept {
  if (path.starts_with(for_visitors)) {
    const std::string_view rest = path.substr(for_visitors.size());
    if (rest.empty() || rest.starts_with('/')) path = rest;
  }
  return path.find("/.") != path.npos;
}

bool opened_hidden(int folder, int file) noexcept {
  const opened_path root(folder);
  const opened_path at(file);
  std::string_view above = root.text();
  if (above == "/") above = {};
  if (root.text().empty() || !at.text().starts_with(above)) return true;
  const std::string_view beneath = at.text().substr(above.size());
  return (!beneath.empty() && !beneath.starts_with('/')) || hidden_path(beneath);
}

}  // namespace heddle::http
