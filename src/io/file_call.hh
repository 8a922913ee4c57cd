// SPDX-License-Identifier: MIT
// File calls as tasks that throw: what files and directories share.
#pragma once

#include <cstdint>
#include <string>

#include "heddle/core/task.hh"
#include "heddle/io/file.hh"
#include "io/one_operation.hh"

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
/// The system would see the part before a zero byte, and so another name: EINVAL.
void check_name(const char* verb, const std::string& path);
[[nodiscard]] int native_flags(const file_options& o) noexcept;

/// What a look-up beneath a folder says while somebody renames folders above it: to be asked again,
/// up to this often. With ".." in a path or a link it cannot tell otherwise whether it escapes.
constexpr int open_tries = 32;
/// What was opened with these flags and O_NONBLOCK, so that opening waits for nobody, is a regular
/// file: there that would only keep a ring from reading it elsewhere where the file system waits.
void end_nonblocking_open(int fd, int flags) noexcept;
/// Opens; how.resolve is `resolve`. `at` may be null; `path` must stay until it has ended.
[[nodiscard]] task<int> open_native(descriptor_state* at, const std::string& path, int flags,
                                    unsigned mode, std::uint64_t resolve);
[[nodiscard]] task<file_status> status_of(descriptor_state& on);
[[nodiscard]] task<> sync_native(descriptor_state& on, bool data_only);
[[nodiscard]] descriptor_state* make_file(int fd);

}  // namespace heddle::detail
