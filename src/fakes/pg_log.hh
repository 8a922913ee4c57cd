// SPDX-License-Identifier: MIT
// The log of commits on disk, written ahead: a commit is applied and answered only when its record
// is synced. docs/reference/fakes.md specifies the file.
//
// Records follow one another. Each has its length and a checksum that begins with the checksum of
// the record before it, so that a torn record, and what an earlier failed write has left behind it,
// is recognized. Reading ends at the first record that does not fit; the bytes from there on become
// zeros before the next append.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fakes/pg_store.hh"
#include "heddle/core/task.hh"
#include "heddle/io/file.hh"

namespace heddle::fakes::detail {

/// Thread: one color. Owns: the open file. One append at a time.
/// Cancel: an append that was cancelled may have written its record or not.
/// Fails: as the system says; bad_message for a file that is no log or is damaged, file_too_large
/// beyond its limit.
class pg_log {
 public:
  pg_log(std::string folder, std::uint64_t bytes_max)
      : folder_(std::move(folder)), bytes_max_(bytes_max) {}

  /// Opens the log, made with its folder if it is missing, and applies its commits. All that it has
  /// applied is durable afterwards. A record that does not fit ends the log. `syncs` says that each
  /// commit was synced before the next: then no power failure damages a record that others follow,
  /// and such a one is a failure.
  [[nodiscard]] task<> open(pg_store& into, bool syncs);
  /// Appends a commit; false, and no byte is written, if the file would exceed its limit. After a
  /// failure the log is as before; the record may be on the disk.
  [[nodiscard]] task<bool> append(const pg_changes& changes, bool sync);
  [[nodiscard]] bool is_open() const noexcept { return file_.is_open(); }

 private:
  task<> make_folder() const;
  static task<> clear(const file& in, std::uint64_t from, std::string_view bytes);

  std::string folder_;
  std::uint64_t bytes_max_;
  file file_;
  std::uint64_t end_ = 0;       // the place of the next record
  std::uint32_t checksum_ = 0;  // checksum of the last record
};

}  // namespace heddle::fakes::detail
