// SPDX-License-Identifier: MIT
// Files: reading and writing at places, whole files, their status. No call blocks the worker:
// io_uring makes the calls itself, and the other drivers leave them to the blocking pool.
#pragma once

#include <cstdint>
#include <string>

#include "heddle/base/list.hh"
#include "heddle/core/task.hh"
#include "heddle/io/buffer.hh"
#include "heddle/io/descriptor.hh"
#include "heddle/io/detail/descriptor_call.hh"
#include "heddle/io/directory_entry.hh"

namespace heddle {

/// How to open a file; the default reads.
///
///   file log = co_await open_file("log", {.write = true, .create = true, .append = true});
struct file_options {
  bool write = false;      ///< writable
  bool read = true;        ///< readable
  bool create = false;     ///< make it when it is missing
  bool exclusive = false;  ///< with create: fail with file_exists when it is there
  bool truncate = false;   ///< drop what is in it
  bool append = false;     ///< every write goes to the end and ignores its place
  unsigned mode = 0644;    ///< permissions of a new file, before the umask
};

/// Size, type, owner and times of a file.
struct file_status {
  std::uint64_t size = 0;
  entry_type type = entry_type::unknown;
  unsigned mode = 0;        ///< permission bits
  nanoseconds modified{0};  ///< since 1970
  std::uint64_t inode = 0;
  std::uint64_t device = 0;
  std::uint32_t link_count = 0;
};

namespace detail {

/// Lists an operation with its file or directory while the operation exists: a close cancels it,
/// and keeps the number as long as another worker's driver has it. Any number of operations may be
/// listed at once; unlike those of a lane, they do not wait for each other.
class file_use : public list_node {
 public:
  file_use(pinned_state&& on, operation& asked) noexcept;
  ~file_use();

  [[nodiscard]] operation& asked() const noexcept { return asked_; }
  /// The descriptor's number; -1 if there is none, or it is closed.
  [[nodiscard]] int number() const noexcept;

 private:
  descriptor_state* state_;  // pinned, or null
  operation& asked_;
};

/// The arguments of a transfer; a write uses only `bytes`.
struct file_asked {
  byte_span bytes;
  std::uint64_t at = 0;
  std::size_t* counter = nullptr;
  bool write = false;
};

class file_awaiter : public operation {
 public:
  file_awaiter(pinned_state&& on, file_asked&& asked) noexcept;
  ~file_awaiter();

  [[nodiscard]] static bool await_ready() noexcept { return false; }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> h) noexcept;
  std::size_t await_resume() const {
    check_outcome(outcome_);
    return count_;
  }
  [[nodiscard]] result<std::size_t> await_result() const noexcept {
    if (outcome_ < 0) return std::unexpected(kernel_error(outcome_));
    return count_;
  }

 private:
  /// Submits steps until the driver keeps one (false) or all are done (true).
  [[nodiscard]] bool run(worker& w) noexcept;
  /// Takes the result of a step; returns whether it was the last.
  [[nodiscard]] bool step(std::int64_t got) noexcept;
  static bool completed(operation& op, worker& w, const completion& c) noexcept;
  static void asked_to_end(wait& x, worker& w) noexcept;
  static const wait_kind read_kind;
  static const wait_kind write_kind;

  file_use file_;
  std::byte* bytes_;
  std::size_t size_;
  std::size_t count_ = 0;
  std::size_t* counter_;
  std::uint64_t at_;
  std::int32_t outcome_ = 0;
  bool ending_ = false;
};

}  // namespace detail

/// Moves bytes between a buffer and a place in a file; see file.
using file_transfer = detail::descriptor_call<detail::file_awaiter, detail::file_asked>;

/// An open file. There is no cursor: each transfer names its place, so any number go on at once.
///
/// Thread: one color. Owns: the descriptor, together with its copies.
/// Cancel: ends when the driver has let go; the bytes moved by then are counted.
/// Fails: invalid_argument for a place above 2^63 - 1, such as std::string::npos.
class file : public descriptor {
 public:
  file() noexcept = default;

  /// Fills the buffer, or stops at the end of the file with a smaller count.
  [[nodiscard]] file_transfer read_at(std::uint64_t at, byte_span into) const noexcept;
  [[nodiscard]] file_transfer read_at(std::uint64_t at, byte_span into,
                                      std::size_t& count) const noexcept;
  /// Writes everything.
  [[nodiscard]] file_transfer write_at(std::uint64_t at, byte_view bytes) const noexcept;
  [[nodiscard]] file_transfer write_at(std::uint64_t at, byte_view bytes,
                                       std::size_t& count) const noexcept;
  [[nodiscard]] task<file_status> status() const;
  [[nodiscard]] task<std::uint64_t> size() const;
  /// Waits until written bytes would survive a power failure; data_only leaves out the times.
  [[nodiscard]] task<> sync(bool data_only = false) const;
  /// Reads the whole file. Fails with file_too_large beyond the limit.
  [[nodiscard]] task<std::string> read_all(std::size_t limit = std::size_t{64} << 20) const;

 private:
  friend class directory;
  friend task<file> open_file(std::string path, file_options options);
  explicit file(detail::descriptor_state* state) noexcept : descriptor(state) {}
};

/// Opens any path that the process may. Fails as the system says, naming the path.
/// For paths that come from outside use directory::open.
[[nodiscard]] task<file> open_file(std::string path, file_options options = {});
/// Reads a whole file. Fails with file_too_large beyond the limit.
[[nodiscard]] task<std::string> read_file(std::string path,
                                          std::size_t limit = std::size_t{64} << 20);
/// Replaces a file in one step: others see the old content or the new, also after a power failure.
/// The new content is written beside it under another name first; that is gone when this fails. If
/// the process is killed it stays: directory::remove_unfinished() removes it.
[[nodiscard]] task<> write_file(std::string path, byte_view content, unsigned mode = 0644);
/// Removes a file. Fails with no_such_file_or_directory if there is none.
[[nodiscard]] task<> remove_file(std::string path);
[[nodiscard]] task<> rename_file(std::string from, std::string to);

}  // namespace heddle
