// SPDX-License-Identifier: MIT
// The state of a file or a directory: which calls use it at present.
#pragma once

#include "io/descriptor_state.hh"

namespace heddle::detail {

class file_use;

/// A file or a directory.
class file_state : public descriptor_state {
 public:
  explicit file_state(int number) noexcept : descriptor_state(number, descriptor_kind::file) {}
  list<file_use> uses;
};

}  // namespace heddle::detail
