// SPDX-License-Identifier: MIT
// The descriptor that the access log goes to: standard output, or a file (--log-file) that is
// opened again when it was renamed, so that old logs can be moved away.
#pragma once

#include <string>

#include "heddle/io/detail/files_here.hh"

namespace heddle::serve {

/// Thread: any; all shards write to it. Owns: the file.
/// Fails: the constructor and reopen() throw failure when the file cannot be opened; reopen() then
/// keeps the one it has.
class log_file {
 public:
  /// Fails as the constructor would, and makes no file: --check may run as another user than the
  /// server. Fails: failure.
  static void check(const std::string& path);

  /// Opens the file for appending; an empty path means standard output.
  explicit log_file(std::string path);
  log_file(const log_file&) = delete;
  log_file& operator=(const log_file&) = delete;

  [[nodiscard]] int descriptor() const noexcept;
  [[nodiscard]] bool is_file() const noexcept { return !path_.empty(); }
  /// Opens the file again, under the same number, so that writers notice nothing.
  void reopen();

 private:
  std::string path_;
  heddle::detail::blocking_file file_;
};

}  // namespace heddle::serve
