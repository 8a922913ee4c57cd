// SPDX-License-Identifier: MIT
// Whether files may be made in a folder, asked before the server starts.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "heddle/io/detail/files_here.hh"
#include "heddle/io/detail/folder_of.hh"

namespace heddle::serve {

using heddle::detail::folder_of;

/// 0 if this user may make files in the folder; else an errno, ENOTDIR if the path is no folder.
[[nodiscard]] inline int folder_trouble(const std::string& folder) noexcept {
  const std::string itself = folder + "/.";
  return -heddle::detail::files_here().access(AT_FDCWD, itself.c_str(), W_OK | X_OK);
}

}  // namespace heddle::serve
