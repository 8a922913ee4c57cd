// SPDX-License-Identifier: MIT
// Serving a directory: files beneath a root that nothing escapes (openat2 with RESOLVE_BENEATH),
// index pages, listings, types, validators, conditional requests and ranges; FILE.br, FILE.zst and
// FILE.gz beside a file, or gzip made on the fly, for clients that take them. Small files are kept
// in a bounded cache; the file itself is looked at again once a second, so a change shows after
// that time at the latest. A file that many ask for at once is opened and read once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "heddle/base/clock.hh"
#include "heddle/core/task.hh"
#include "heddle/http/content_cache.hh"
#include "heddle/http/server.hh"
#include "heddle/io/page_store.hh"

namespace heddle::http {

struct listed_name;

struct static_options {
  bool listing = true;        ///< pages for directories without an index
  bool hidden = false;        ///< names that begin with a dot are served
  bool single_page = false;   ///< the index of the root answers for paths that name no file
  bool precompressed = true;  ///< FILE.br, FILE.zst, FILE.gz, if not older than FILE
  bool compress = false;      ///< text that has none of these is packed when first asked for
  std::string index = "index.html";
  /// Fields of every answer. The constructor throws failure when one must not be sent.
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::uint64_t cache_bytes_max = 64ull << 20;    ///< in memory, bookkeeping included
  std::uint64_t cached_file_bytes_max = 1 << 20;  ///< larger files are read when asked for
  /// Bodies in memory, those of the cache and those that slow clients still read although the cache
  /// has given them up; beyond it files are sent in parts: unkept. 0: twice cache_bytes_max and
  /// 16 MiB.
  std::uint64_t held_bytes_max = 0;
  std::uint64_t compress_bytes_min = 256;    ///< smaller ones gain nothing
  std::size_t listing_entries_max = 10'000;  ///< names on one page
  /// A cached file is not looked at again for so long.
  nanoseconds trust = std::chrono::seconds(1);
};

struct static_counters {
  std::uint64_t hits = 0;        ///< answered from memory without looking at the file
  std::uint64_t misses = 0;      ///< the file was opened
  std::uint64_t joined = 0;      ///< waited for a file that another request was looking at
  std::uint64_t unkept = 0;      ///< not taken into memory, because held_bytes_max was reached
  std::uint64_t compressed = 0;  ///< files packed on the fly
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
  [[nodiscard]] const content_cache& cache() const noexcept { return cache_; }
  /// Memory of bodies, cached or on their way.
  [[nodiscard]] std::uint64_t held_bytes() const noexcept { return *held_bytes_; }
  /// Requests that are being answered; it must not be destroyed before there are none.
  [[nodiscard]] std::size_t busy() const noexcept { return busy_; }
  /// Header lines that options().headers became, for answers that are made elsewhere.
  [[nodiscard]] const piece& extra_lines() const noexcept { return extra_lines_; }

 private:
  struct opened;
  struct found;
  class flight;

  [[nodiscard]] content* trusted(std::string_view path);
  [[nodiscard]] task<response> respond(content& c, request& asked);
  [[nodiscard]] response send(const content& c, content_coding coding, request& asked);
  [[nodiscard]] task<response> find(request& asked, std::string path);
  [[nodiscard]] task<response> give(request& asked, found f, std::string path);
  [[nodiscard]] task<response> send_unkept(request& asked, std::string path, content large);
  [[nodiscard]] task<response> send_large(request& asked, opened file, content c);
  // static_look.cc
  [[nodiscard]] task<found> look(std::string path);
  [[nodiscard]] task<found> load(std::string path);
  [[nodiscard]] bool same_forms(const content& known, const content& fresh) const noexcept;
  [[nodiscard]] task<> add_precompressed(content& c);
  [[nodiscard]] task<content*> pack(std::string path);
  [[nodiscard]] task<response> directory(request& asked, open_file dir, std::string path);
  [[nodiscard]] task<response> list_directory(open_file dir, std::string path);
  [[nodiscard]] task<opened> open(std::string path);
  [[nodiscard]] task<piece> read_whole(const opened& file);
  [[nodiscard]] bool may_hold(std::uint64_t bytes) const noexcept {
    return *held_bytes_ + bytes <= options_.held_bytes_max;
  }
  [[nodiscard]] response refuse(request& asked, int status, std::string_view what = {});
  [[nodiscard]] bool varies(const content& c) const noexcept;
  [[nodiscard]] bool packable(const content& c) const noexcept;
  void assemble(content& c, content_coding coding);

  int root_fd_ = -1;
  static_options options_;
  static_counters counters_;
  content_cache cache_;
  page_store pages_;  // of bodies that the kernel sends without copying them
  std::shared_ptr<std::uint64_t> held_bytes_;              // bodies on their way may outlive this
  std::unordered_map<std::string_view, flight*> flights_;  // by the path that is looked at
  piece extra_lines_;
  std::size_t busy_ = 0;
};

}  // namespace heddle::http
