// SPDX-License-Identifier: MIT
// Pages that the server writes itself: the listing of a directory, and errors. Plain HTML without
// scripts and without anything from elsewhere; light and dark; readable on a phone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/io/directory_entry.hh"

namespace heddle::http {

/// One line of a listing.
struct listed_name {
  directory_entry entry;
  std::uint64_t size = 0;
  std::int64_t modified = 0;  ///< seconds since 1970; 0: not known
};

/// `path` is decoded and ends with '/'. Directories come first, then files, both by name.
/// `left_out` is how many names there are besides.
[[nodiscard]] std::string listing_page(std::string_view path, std::vector<listed_name> names,
                                       std::size_t left_out);

/// What went wrong, what it means for a visitor, and the way home.
[[nodiscard]] std::string error_page(int status, std::string_view what);

/// "1.2 kB".
[[nodiscard]] std::string page_size_text(std::uint64_t bytes);

}  // namespace heddle::http
