// SPDX-License-Identifier: MIT
// A directory as a root that nothing escapes: names are looked up beneath it by the kernel, so that
// "..", absolute paths and symbolic links that lead out are refused, even if a link is changed
// meanwhile.
//
//   directory site = co_await open_directory("public");
//   file page = co_await site.open(path_from_a_stranger);
#pragma once

#include <string>
#include <vector>

#include "heddle/io/file.hh"

namespace heddle {

/// The symbolic links that a call follows.
enum class links : std::uint8_t {
  beneath,  ///< links that stay beneath the root
  none,     ///< no link: the call fails with too_many_symbolic_link_levels
};

/// How directory::list gives its entries.
enum class listing_order : std::uint8_t { by_name, as_stored };

/// Thread: one color. Owns: the descriptor, together with its copies.
/// Cancel: each call ends when the driver has ended its operation; its effects so far remain.
/// Fails: as the system says, naming the path; cross_device_link when a path would lead out.
class directory : public descriptor {
 public:
  directory() noexcept = default;

  [[nodiscard]] task<file> open(std::string path, file_options options = {},
                                links follow = links::beneath) const;
  [[nodiscard]] task<directory> open_directory(std::string path,
                                               links follow = links::beneath) const;
  [[nodiscard]] task<file_status> status(std::string path, links follow = links::beneath) const;
  /// The directory's entries, without "." and "..".
  [[nodiscard]] task<std::vector<directory_entry>> list(
      listing_order order = listing_order::by_name) const;
  [[nodiscard]] task<> make_directory(std::string path, unsigned mode = 0755) const;
  [[nodiscard]] task<> remove(std::string path) const;
  /// Removes a directory, which must be empty.
  [[nodiscard]] task<> remove_directory(std::string path) const;
  /// Renames within one folder beneath the root; other moves fail with invalid_argument.
  [[nodiscard]] task<> rename(std::string from, std::string to) const;
  /// Removes what write_file() to a file of this name had begun in this directory when its process
  /// was killed: files with the hidden names that it gives, to which nothing was written for this
  /// long. Gives their number; a file that cannot be removed stays.
  [[nodiscard]] task<std::size_t> remove_unfinished(
      std::string name, nanoseconds untouched = std::chrono::hours(1)) const;
  /// Makes new, renamed and removed names in the directory survive a power failure.
  [[nodiscard]] task<> sync() const;

 private:
  friend task<directory> open_directory(std::string path);
  explicit directory(detail::descriptor_state* state) noexcept : descriptor(state) {}
  /// The folder that holds the last name of a path, and that name.
  struct place;
  [[nodiscard]] task<place> place_of(std::string path) const;
};

/// Opens any path that the process may open. For paths from outside use directory's members.
[[nodiscard]] task<directory> open_directory(std::string path);
[[nodiscard]] task<> make_directory(std::string path, unsigned mode = 0755);
/// Removes a directory, which must be empty.
[[nodiscard]] task<> remove_directory(std::string path);

}  // namespace heddle
