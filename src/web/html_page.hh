// SPDX-License-Identifier: MIT
// HTML pages that the server generates: directory listings and errors. They use no scripts and no
// external resources, have light and dark colors, and are readable on a phone.
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

enum class listing_key : std::uint8_t { name, size, time };

/// The order of a listing: from ?sort=KEY, or ?sort=-KEY for the largest, the latest or the last
/// name first.
struct listing_sort {
  listing_key by = listing_key::name;
  bool descending = false;
  bool operator==(const listing_sort&) const = default;
};

/// Reads the order from a request's query; the default is by name.
[[nodiscard]] listing_sort listing_sort_of(std::string_view query);

/// Sorts the names. Directories come before files; both are sorted, with ties in natural order of
/// names.
void sort_listing(std::vector<listed_name>& names, listing_sort sort = {});

/// Makes the page of a listing. `path` is decoded and ends with '/'; `names` are in the order of
/// `sort`. `left_out` is the number of names that the listing omits. `foot` is HTML for the end of
/// the page.
[[nodiscard]] std::string listing_page(std::string_view path, const std::vector<listed_name>& names,
                                       std::size_t left_out, listing_sort sort = {},
                                       std::string_view foot = {});

/// A page with the error, its meaning for a visitor, and a link to the start page.
[[nodiscard]] std::string error_page(int status, std::string_view what);

/// Writes a size for people: "1.2 kB".
[[nodiscard]] std::string page_size_text(std::uint64_t bytes);

}  // namespace heddle::http
