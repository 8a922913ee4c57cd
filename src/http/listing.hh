// SPDX-License-Identifier: MIT
// The page that lists a directory: plain HTML that works without scripts, light and dark, on a
// phone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "heddle/io/directory_entry.hh"

namespace heddle::http {

/// `path` is decoded and ends with '/'. Directories come first, then files, both by name.
[[nodiscard]] std::string listing_page(std::string_view path, std::vector<directory_entry> names);

}  // namespace heddle::http
