// SPDX-License-Identifier: MIT
// Serving a directory: files beneath a root that nothing escapes (openat2 with RESOLVE_BENEATH),
// index pages, listings, types, validators, conditional requests and one range. Small files are
// kept in a bounded cache and looked at again once a second.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "heddle/base/clock.hh"
#include "heddle/core/task.hh"
#include "heddle/http/server.hh"

namespace heddle::http {

struct static_options {
  bool listing = true;  ///< pages for directories without an index
  bool hidden = false;  ///< names that begin with a dot are served
  std::string index = "index.html";
  std::uint64_t cache_bytes_max = 64ull << 20;    ///< bodies in memory
  std::uint64_t cached_file_bytes_max = 1 << 20;  ///< larger files are read when asked for
  nanoseconds trust =
      std::chrono::seconds(1);  ///< a cached file is not looked at again for so long
};

struct static_counters {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t cached_bytes = 0;
};

/// Thread: one color. Owns: the root's descriptor and the cache.
/// Fails: the constructor throws failure when the root is no readable directory.
class static_files {
 public:
  explicit static_files(const std::string& root, static_options options = {});
  ~static_files();
  static_files(const static_files&) = delete;
  static_files& operator=(const static_files&) = delete;

  /// The handler: co_return co_await files.answer(request).
  [[nodiscard]] task<response> answer(request& asked);

  [[nodiscard]] const static_counters& counters() const noexcept { return counters_; }

 private:
  struct entry;
  struct text_hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using order = std::list<entry>;

  [[nodiscard]] response from_cache(entry& e, request& asked);
  [[nodiscard]] task<response> from_disk(request& asked, std::string path);
  [[nodiscard]] task<response> directory(request& asked, open_file dir, std::string path);
  [[nodiscard]] task<response> list_directory(open_file dir, std::string path);
  void remember(entry&& e);
  void forget(order::iterator at);

  int root_fd_ = -1;
  static_options options_;
  static_counters counters_;
  order entries_;  // most recently used first
  std::unordered_map<std::string, order::iterator, text_hash, std::equal_to<>> by_path_;
};

}  // namespace heddle::http
