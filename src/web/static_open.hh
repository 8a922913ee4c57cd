// SPDX-License-Identifier: MIT
// The file and directory operations of the static server.
#pragma once

#include <cerrno>
#include <cstdint>
#include <vector>

#include "heddle/http/detail/open_file.hh"
#include "heddle/io/call.hh"
#include "heddle/web/detail/content_cache.hh"
#include "heddle/web/static_files.hh"
#include "web/html_page.hh"

namespace heddle::http {

/// The result of opening a path.
struct static_files::opened {
  std::int64_t error = 0;  ///< -errno
  bool is_directory = false;
  open_file file = {};
  file_facts facts = {};
};

/// The result of looking up a path.
struct static_files::found {
  enum class what : std::uint8_t {
    failed,     ///< `error` says why
    kept,       ///< the file is in the cache
    large,      ///< not in the cache: see `file` and `facts`
    directory,  ///< see `file`
  };
  what is = what::failed;
  std::int64_t error = 0;  ///< -errno; file_changes if it changed while it was read
  opened file = {};
  content facts = {};
};

inline constexpr std::int64_t file_changes = -ESTALE;

[[nodiscard]] std::string etag_of(const file_facts& f);

/// The status that answers a failed file call. A forbidden path looks like a missing one.
[[nodiscard]] int status_for(std::int64_t error) noexcept;

/// A directory's names with sizes and times, gathered by one call on the blocking pool. A link is
/// listed as its target, if visitors may have the target.
struct listing_request {
  int root;
  int directory;
  std::string_view path;  ///< the directory's path from the root; ends with '/'
  bool hidden;
  std::size_t entries_max;
  std::vector<listed_name> names;
  std::size_t left_out = 0;
};
struct list_with_sizes : heddle::one_operation {
  explicit list_with_sizes(listing_request& wanted) noexcept;
};

/// Calls compress() on the blocking pool.
struct pack_request {
  content_coding as;
  std::string_view plain;
  std::optional<std::string> packed;
};
struct pack_apart : heddle::one_operation {
  explicit pack_apart(pack_request& wanted) noexcept;
};

}  // namespace heddle::http
