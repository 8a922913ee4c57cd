// SPDX-License-Identifier: MIT
// Whole files in memory, read once for however many clients. Plain data: every call is made in one
// color. A name is looked up beneath the root each time, so what was removed, forbidden or changed
// on disk is seen by the next request.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "heddle/core/event.hh"
#include "heddle/io/directory.hh"
#include "secret.hh"

namespace sealed {

/// Why a client does not get a file; the text is for the client.
struct refusal : trouble {
  using trouble::trouble;
};

struct cache_limits {
  std::uint64_t bytes_max = std::uint64_t{256} << 20;  ///< of all files, also those being sent
  std::size_t files_max = 1024;
};

/// A file's bytes; they stay as they are while somebody holds this.
using content = std::shared_ptr<const std::string>;

/// Thread: one color. Owns: what it holds; a content that somebody sends is kept until it is sent.
/// Cancel: a client that goes away while its file is read leaves the reading to the next in line.
/// Fails: with refusal, saying why in words for the client.
///
///   const content file = co_await cache.get(name);
class file_cache {
 public:
  explicit file_cache(heddle::directory root, cache_limits limits = {})
      : root_(std::move(root)), limits_(limits) {}

  [[nodiscard]] heddle::task<content> get(std::string name);

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::uint64_t loads() const noexcept { return loads_; }

 private:
  struct entry {
    std::string name;  // empty: a newer version has taken its place, and somebody still sends it
    heddle::file_status facts;
    content bytes;  // null while it is read
    std::uint64_t used_at = 0;
    std::vector<heddle::event<>> waiting = {};
  };
  using place = std::list<entry>::iterator;
  struct reading;

  [[nodiscard]] place find(const std::string& name) noexcept;
  /// Takes the newest version of a file from disk.
  [[nodiscard]] heddle::task<content> load(const heddle::file& from, std::string name,
                                           heddle::file_status facts);
  /// Drops what nobody sends, the longest unused first, until this fits.
  void make_room(std::uint64_t size);
  void drop(place at) noexcept;

  heddle::directory root_;
  cache_limits limits_;
  std::list<entry> entries_;
  std::uint64_t bytes_ = 0;
  std::uint64_t loads_ = 0;
  std::uint64_t clock_ = 0;
};

}  // namespace sealed
