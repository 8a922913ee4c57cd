// SPDX-License-Identifier: MIT
// File calls as tasks that throw: the common part of files and directories.
#pragma once

#include <cstdint>
#include <string>

#include "heddle/core/task.hh"
#include "heddle/io/call.hh"
#include "heddle/io/detail/open_beneath.hh"
#include "heddle/io/file.hh"

namespace heddle::detail {

/// One operation on an open file, or beneath an open folder; null: beneath the working folder.
class file_operation : public one_operation {
 public:
  file_operation(op_code code, descriptor_state* on, const char* what) noexcept;

 private:
  file_use use_;
};

/// Throws the failure that an outcome names, with the verb and the path.
void check_path(std::int64_t outcome, const char* verb, const std::string& path);
/// Refuses a zero byte (EINVAL): the system would take only the part before it as the name.
void check_name(const char* verb, const std::string& path);
[[nodiscard]] int native_flags(const file_options& o) noexcept;

/// Opens; how.resolve is `resolve`. `at` may be null; `path` must stay until it has ended.
[[nodiscard]] task<int> open_native(descriptor_state* at, const std::string& path, int flags,
                                    unsigned mode, std::uint64_t resolve);
[[nodiscard]] task<file_status> status_of(descriptor_state& on);
[[nodiscard]] task<> sync_native(descriptor_state& on, bool data_only);
[[nodiscard]] descriptor_state* make_file(int fd);

}  // namespace heddle::detail
