// SPDX-License-Identifier: MIT
// A counted handle to an open descriptor. Copies share it; the last copy closes it. Operations that
// are pending at the close end with operation_canceled, later ones with bad_file_descriptor; bytes
// that were already counted stay counted.
#pragma once

#include "heddle/io/detail/lane.hh"

namespace heddle {

class descriptor;

namespace detail {
/// The state of an open descriptor; a closed one throws bad_file_descriptor.
[[nodiscard]] descriptor_state& open_state(const descriptor& d);
}  // namespace detail

/// Thread: one color, while its runtime runs; close() and the end of a copy: any color, once no
///   other color makes or ends copies at the same time. If the driver works ahead for another
///   color (a stream after a read, a listener after an accept), both take effect there, soon.
/// Owns: the descriptor, together with its copies.
/// Cancel: described at each operation.
class descriptor {
 public:
  /// A closed handle: operations on it fail with bad_file_descriptor.
  descriptor() noexcept = default;
  descriptor(const descriptor& other) noexcept;
  descriptor(descriptor&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  descriptor& operator=(descriptor other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~descriptor() {
    if (state_ != nullptr) drop();
  }

  /// Closes it for all copies.
  void close() noexcept;

  [[nodiscard]] bool is_open() const noexcept;
  [[nodiscard]] explicit operator bool() const noexcept { return is_open(); }
  /// The system's number, which stays ours; -1 when closed, and for a stream that a layer carries.
  [[nodiscard]] int number() const noexcept;

 protected:
  friend detail::descriptor_state& detail::open_state(const descriptor& d);
  explicit descriptor(detail::descriptor_state* state) noexcept : state_(state) {}
  void drop() noexcept;

  detail::descriptor_state* state_ = nullptr;
};

}  // namespace heddle
