// SPDX-License-Identifier: MIT
// Serves the files below a root directory; openat2 with RESOLVE_BENEATH keeps paths inside it. It
// provides index pages, listings, media types, validators, conditional requests and ranges, and
// sends FILE.br, FILE.zst and FILE.gz (or gzip made on the fly) to clients that accept them. A
// bounded cache holds small files. A cached file is checked once a second, so a change shows within
// that time. If many requests ask for a file at once, it is opened and read once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "heddle/base/clock.hh"
#include "heddle/core/task.hh"
#include "heddle/io/detail/files_here.hh"
#include "heddle/io/page_store.hh"
#include "heddle/web/detail/content_cache.hh"
#include "heddle/web/server.hh"

namespace heddle::http {

struct listed_name;

struct static_options {
  bool listing = true;  ///< pages for directories without an index
  /// Serve names that begin with a dot. Temporary files of write_file() and uploads are never
  /// served; /.well-known always is.
  bool hidden = false;
  bool single_page = false;   ///< paths that name no file are answered with the root's index
  bool precompressed = true;  ///< send FILE.br, FILE.zst, FILE.gz unless older than FILE
  bool compress = false;      ///< compress text without such files at the first request
  std::string index = "index.html";
  /// The file in the root that browsers get with a 404; without it they get the server's own page.
  std::string not_found = "404.html";
  /// /about is about.html, and /about.html is answered with 308 to /about. A folder about wins.
  bool clean_urls = false;
  /// Fields of every answer. The constructor throws failure if one must not be sent.
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::uint64_t cache_bytes_max = 64ull << 20;    ///< memory of the cache, bookkeeping included
  std::uint64_t cached_file_bytes_max = 1 << 20;  ///< larger files are not cached
  /// Memory of all bodies: those in the cache, and those dropped from the cache that slow clients
  /// still read. Beyond it, files are sent in parts: unkept. 0: twice cache_bytes_max plus 16 MiB.
  std::uint64_t held_bytes_max = 0;
  /// Files that go into the cache are read without the kernel's cache (O_DIRECT), so that no byte
  /// is in memory twice. Larger files are sent from the kernel's cache as before. The constructor
  /// throws failure if the root's file system cannot do that.
  bool direct = false;
  std::uint64_t compress_bytes_min = 256;    ///< smaller files are not compressed
  std::size_t listing_entries_max = 10'000;  ///< names on one page
  /// Gives HTML to put below the list of a folder; its path is decoded and ends with a slash.
  std::function<std::string(std::string_view path)> listing_foot = {};
  /// How long a cached file is served without a new check.
  nanoseconds trust = std::chrono::seconds(1);
};

struct static_counters {
  std::uint64_t hits = 0;        ///< answered from the cache without a check of the file
  std::uint64_t misses = 0;      ///< the file was opened
  std::uint64_t joined = 0;      ///< waited for a file that another request was opening
  std::uint64_t unkept = 0;      ///< not cached, because held_bytes_max was reached
  std::uint64_t compressed = 0;  ///< files packed on the fly
  std::uint64_t direct = 0;      ///< files read without the kernel's cache
};

/// Thread: one color. Owns: the root's descriptor and the cache.
/// Fails: the constructor throws failure when the root is no readable directory.
class static_files {
 public:
  explicit static_files(const std::string& root, static_options options = static_options());
  ~static_files();
  static_files(const static_files&) = delete;
  static_files& operator=(const static_files&) = delete;

  /// Answers a request; for a handler: co_return co_await files.answer(request).
  [[nodiscard]] task<response> answer(request& asked);

  [[nodiscard]] const static_counters& counters() const noexcept { return counters_; }
  [[nodiscard]] const content_cache& cache() const noexcept { return cache_; }
  /// Memory of bodies in the cache or being sent.
  [[nodiscard]] std::uint64_t held_bytes() const noexcept { return *held_bytes_; }
  /// Requests being answered; do not destroy the object while there are any.
  [[nodiscard]] std::size_t busy() const noexcept { return busy_; }
  /// The header lines of options().headers, for answers that are made elsewhere.
  [[nodiscard]] const piece& extra_lines() const noexcept { return extra_lines_; }

 private:
  struct opened;
  struct found;
  class flight;

  [[nodiscard]] content* trusted(std::string_view path);
  [[nodiscard]] task<response> respond(content& c, request& asked);
  [[nodiscard]] response send(const content& c, content_coding coding, request& asked);
  [[nodiscard]] task<response> answer_page(request& asked, std::string path);
  [[nodiscard]] response elsewhere(request& asked, int status, std::string_view path);
  [[nodiscard]] task<response> find(request& asked, std::string path);
  [[nodiscard]] task<response> give(request& asked, found f, std::string path);
  [[nodiscard]] task<response> missing(request& asked);
  [[nodiscard]] task<response> send_unkept(request& asked, std::string path, content large);
  [[nodiscard]] task<response> send_large(request& asked, opened file, content c);
  // static_look.cc
  [[nodiscard]] task<found> look(std::string path);
  [[nodiscard]] task<found> load(std::string path);
  [[nodiscard]] bool same_forms(const content& known, const content& fresh) const noexcept;
  [[nodiscard]] task<> add_precompressed(content& c);
  [[nodiscard]] task<content*> pack(std::string path, content_coding as);
  [[nodiscard]] task<response> directory(request& asked, open_file dir, std::string path);
  [[nodiscard]] task<response> list_directory(request& asked, open_file dir, std::string path);
  [[nodiscard]] task<opened> open(std::string path);
  [[nodiscard]] task<piece> read_whole(const opened& file);
  [[nodiscard]] bool may_hold(std::uint64_t bytes) const noexcept {
    return *held_bytes_ + bytes <= options_.held_bytes_max;
  }
  [[nodiscard]] response refuse(request& asked, int status, std::string_view what = {});
  [[nodiscard]] bool varies(const content& c) const noexcept;
  /// The codings that this content could still be compressed as.
  [[nodiscard]] coding_set packable(const content& c) const noexcept;
  void assemble(content& c, content_coding coding);

  heddle::detail::blocking_file root_;
  static_options options_;
  coding_set makes_;  ///< on the fly; none without options_.compress
  static_counters counters_;
  content_cache cache_;
  page_store pages_;  // memory of bodies that the kernel sends without a copy
  std::shared_ptr<std::uint64_t> held_bytes_;  // shared, because bodies being sent may outlive this
  std::unordered_map<std::string_view, flight*> flights_;  // by the path that is being opened
  piece extra_lines_;
  std::size_t busy_ = 0;
};

}  // namespace heddle::http
