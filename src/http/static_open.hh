// SPDX-License-Identifier: MIT
// The calls of the static server on files and directories.
#pragma once

#include <cerrno>
#include <cstdint>
#include <vector>

#include "heddle/http/content_cache.hh"
#include "heddle/http/open_file.hh"
#include "heddle/http/static_files.hh"
#include "http/page.hh"
#include "io/one_operation.hh"

namespace heddle::http {

/// What opening a path came to.
struct static_files::opened {
  std::int64_t error = 0;  ///< -errno
  bool is_directory = false;
  open_file file = {};
  file_facts facts = {};
};

/// What looking at a path came to.
struct static_files::found {
  enum class what : std::uint8_t {
    failed,     ///< `error` says why
    kept,       ///< it is in the cache
    large,      ///< it is not kept: `file`, and what is known of it
    directory,  ///< `file`
  };
  what is = what::failed;
  std::int64_t error = 0;  ///< -errno; file_changes when it was not the same to the end
  opened file = {};
  content facts = {};
};

inline constexpr std::int64_t file_changes = -ESTALE;

[[nodiscard]] std::string etag_of(const file_facts& f);

/// The status that tells a client of a failed call. What must not be reached looks like what is not
/// there.
[[nodiscard]] int status_for(std::int64_t error) noexcept;

/// Names with sizes and times, gathered in one call where blocking is allowed.
struct listing_request {
  int directory;
  bool hidden;
  std::size_t entries_max;
  std::vector<listed_name> names;
  std::size_t left_out = 0;
};
struct list_with_sizes : heddle::detail::one_operation {
  explicit list_with_sizes(listing_request& wanted) noexcept;
};

/// gzip() where blocking is allowed.
struct pack_request {
  std::string_view plain;
  std::optional<std::string> packed;
};
struct pack_apart : heddle::detail::one_operation {
  explicit pack_apart(pack_request& wanted) noexcept;
};

}  // namespace heddle::http
