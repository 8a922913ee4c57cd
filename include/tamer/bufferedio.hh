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

  /// Reads once more.
  void fill_more(fd f, int_event done);
  /// Reads until `c` is in the buffer; `len` is the length up to and with it.
  void fill_until(fd f, char c, std::size_t limit, std::size_t& len, int_event done);
  /// The same, and takes what was read, `c` included.
  void take_until(fd f, char c, std::size_t limit, std::string& text, int_event done);
  /// The first n bytes, or what there is of them.
  [[nodiscard]] std::string take(std::size_t n);

 private:
  struct content;
  static void fill(std::shared_ptr<content> in, fd f, event<int> done);
  static void find(std::shared_ptr<content> in, fd f, char c, std::size_t limit,
                   event<std::size_t, int> done);
  std::shared_ptr<content> content_;
};

}  // namespace tamer
