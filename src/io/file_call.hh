// SPDX-License-Identifier: MIT
// File calls as tasks that throw: what files and directories share.
#pragma once

#include <cstdint>
#include <string>

#include "heddle/core/task.hh"
#include "heddle/io/file.hh"

namespace heddle::detail {

/// A descriptor's number for an operation, or a throw of bad_file_descriptor.
[[nodiscard]] int open_number(const descriptor& d);
/// Throws the failure that an outcome names, with the verb and the path.
void check_path(std::int64_t outcome, const char* verb, const std::string& path);
[[nodiscard]] int native_flags(const file_options& o) noexcept;

/// Opens; how.resolve is `resolve`. `path` must stay until it has ended.
[[nodiscard]] task<int> open_native(int at, const std::string& path, int flags, unsigned mode,
                                    std::uint64_t resolve);
[[nodiscard]] task<file_status> status_of(int fd);
[[nodiscard]] task<> sync_native(int fd, bool data_only);
[[nodiscard]] descriptor_state* make_plain(int fd);

}  // namespace heddle::detail
