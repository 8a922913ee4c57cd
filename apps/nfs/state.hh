// SPDX-License-Identifier: MIT
// The server's state on disk, in the folder of `--state DIR`: what handles need to survive a
// restart. `key` has the 16 bytes that seal them (mode 0600), `exports` has a line "NUMBER PATH"
// for each path that was ever exported, so that a number never means another path.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "heddle/base/siphash.hh"

namespace nfs {

/// Thread: one; while the program starts, because the calls block. Owns: a lock on the folder, for
///   two servers would give one number to two paths. A server that ends has up to two seconds for
///   it.
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

  /// A lock on the folder, as long as it lives.
  class folder_lock {
   public:
    explicit folder_lock(const std::string& folder);
    folder_lock(const folder_lock&) = delete;
    folder_lock& operator=(const folder_lock&) = delete;
    ~folder_lock();

   private:
    int fd_;
  };

  std::string folder_;
  std::optional<folder_lock> lock_;
  heddle::siphash_key key_{};
  std::map<std::string, std::uint8_t> numbers_;
};

}  // namespace nfs
