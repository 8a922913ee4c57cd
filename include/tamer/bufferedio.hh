// SPDX-License-Identifier: MIT
// tamer::buffer: reads a descriptor line by line, or up to any other byte.
#pragma once

#include <string>

#include "tamer/fd.hh"

namespace tamer {

/// Thread: the runtime's. Must outlive the operations that it was asked for.
/// Fails: -E2BIG when the byte does not come within the limit, -EPIPE at the end of the file, and
///   the errors of reading. The bytes that were read stay in the buffer.
class buffer {
 public:
  explicit buffer(std::size_t initial_capacity = 1024);
  buffer(const buffer&) = delete;
  buffer& operator=(const buffer&) = delete;
  ~buffer();

  /// Bytes that were read and not taken.
  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] const char* data() const noexcept;

  /// Reads once, and appends the bytes to the buffer.
  void fill_more(fd f, int_event done);
  /// Reads until `c` is in the buffer; `len` gets the length with `c` included.
  void fill_until(fd f, char c, std::size_t limit, std::size_t& len, int_event done);
  /// As fill_until(), and takes the bytes up to `c`, `c` included, into `text`.
  void take_until(fd f, char c, std::size_t limit, std::string& text, int_event done);
  /// Takes the first n bytes, or all if there are fewer.
  [[nodiscard]] std::string take(std::size_t n);

 private:
  struct content;
  static void fill(std::shared_ptr<content> in, fd f, event<int> done);
  static void find(std::shared_ptr<content> in, fd f, char c, std::size_t limit,
                   event<std::size_t, int> done);
  std::shared_ptr<content> content_;
};

}  // namespace tamer
