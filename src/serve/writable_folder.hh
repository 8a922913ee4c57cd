// SPDX-License-Identifier: MIT
// Whether files may be made in a folder, asked before the server starts.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "heddle/io/detail/files_here.hh"

namespace heddle::serve {

/// The folder in which a path's last name is.
[[nodiscard]] inline std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == path.npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// 0 if this user may make files in the folder; else an errno, ENOTDIR if the path is no folder.
[[nodiscard]] inline int folder_trouble(const std::string& folder) noexcept {
  const std::string itself = folder + "/.";
  return -heddle::detail::files_here().access(AT_FDCWD, itself.c_str(), W_OK | X_OK);
}

}  // namespace heddle::serve
