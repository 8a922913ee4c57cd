// SPDX-License-Identifier: MIT
// The server's state on disk, in the folder of `--state DIR`: what handles need to survive a
// restart. `key` has the 16 bytes that seal them (mode 0600), `exports` has a line "NUMBER PATH"
// for each path that was ever exported, so that a number never means another path.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "heddle/base/siphash.hh"

namespace nfs {

/// Thread: one; while the program starts, because the calls block.
/// Fails: with std::runtime_error, whose text says what, where and what to do.
class server_state {
 public:
  /// Reads the folder, which is made if it is missing; a new one gets a key of its own.
  explicit server_state(std::string folder);

  [[nodiscard]] const heddle::siphash_key& key() const noexcept { return key_; }
  /// The number of an exported path. A new path gets the next one, which is on disk before this
  /// returns. Fails if there are 256 already.
  [[nodiscard]] std::uint8_t number_of(const std::string& path);

 private:
  void read_key();
  void read_exports();
  void write_exports() const;

  std::string folder_;
  heddle::siphash_key key_{};
  std::map<std::string, std::uint8_t> numbers_;
};

}  // namespace nfs
