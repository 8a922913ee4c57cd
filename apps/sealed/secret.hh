// SPDX-License-Identifier: MIT
// The key that a server and its clients share, as a file: 64 hexadecimal digits. And what is said
// when one of this program's own rules is broken by the other side, by a file or by an option.
#pragma once

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

#include "heddle/core/task.hh"

namespace sealed {

/// What went wrong, for people: what, where, and what to do.
struct trouble : std::runtime_error {
  using runtime_error::runtime_error;
};

/// Overwrites bytes so that no optimizer leaves them out.
void wipe(void* at, std::size_t count) noexcept;

/// Some secret bytes. They are overwritten when this dies.
template <std::size_t N>
struct secret_bytes : std::array<unsigned char, N> {
  secret_bytes() noexcept : std::array<unsigned char, N>{} {}
  secret_bytes(const secret_bytes&) noexcept = default;
  secret_bytes& operator=(const secret_bytes&) noexcept = default;
  ~secret_bytes() { wipe(this->data(), N); }
};

using shared_key = secret_bytes<32>;

/// Fails with trouble, naming the place, when the text is not 64 hexadecimal digits; blanks at the
/// end do not count.
[[nodiscard]] shared_key parse_key(std::string_view text, const std::string& place);
/// Reads a key file. Fails as the system says, or as parse_key().
[[nodiscard]] heddle::task<shared_key> load_key(std::string path);
/// A fresh key as the text of a key file, of the driver's randomness.
[[nodiscard]] std::string make_key_text();
/// Fills `count` bytes with the driver's randomness, which is the kernel's, or the simulation's.
void fill_random(void* at, std::size_t count);

}  // namespace sealed
