// SPDX-License-Identifier: MIT
// Files in memory, ready to be sent: for each path its representations (as it is, and coded), with
// their header lines assembled. Bounded; what was used least recently goes first. The cache does
// not look at files by itself: whoever uses it asks the file again once an entry is older than it
// trusts (static_files does, once a second).
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "heddle/base/clock.hh"
#include "heddle/http/content_coding.hh"
#include "heddle/io/chain.hh"

namespace heddle::http {

/// What tells two states of a file apart.
struct file_facts {
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t modified = 0;     ///< seconds since 1970, for Last-Modified
  std::uint64_t changed_ns = 0;  ///< the same time in nanoseconds
  bool operator==(const file_facts&) const = default;
};

/// One form of a file's content.
struct representation {
  file_facts facts;  ///< of the file it stands in
  std::string etag;
  piece lines;                   ///< header lines that every answer with it has, and then
  std::uint8_t length_line = 0;  ///< bytes of a last one: Content-Length, of answers with all of it
  piece body;

  /// For answers with a part of it, or with nothing.
  [[nodiscard]] piece lines_of_part() const noexcept {
    return lines.slice(0, lines.size() - length_line);
  }
};

/// Everything known about one path.
struct content {
  std::string path;
  std::string_view type;
  representation plain;
  std::array<representation, content_coding_count> coded;
  coding_set codings;       ///< which of `coded` are there
  bool gzip_tried = false;  ///< compressing it was begun, or is not wanted
  time_point seen_at{};     ///< when the files were looked at last

  [[nodiscard]] const representation& in(content_coding c) const noexcept {
    return c == content_coding::identity ? plain : coded[static_cast<std::size_t>(c)];
  }
  [[nodiscard]] representation& in(content_coding c) noexcept {
    return c == content_coding::identity ? plain : coded[static_cast<std::size_t>(c)];
  }
  /// Memory it takes, its own bookkeeping included, so that many small files are bounded too.
  [[nodiscard]] std::uint64_t bytes() const noexcept;
};

/// Thread: one color. Owns: its entries. A reference to one is good until the next insert() or
/// erase(); pieces of it that are being sent live on by themselves.
///
///   if (content* c = cache.find(path); c != nullptr && now - c->seen_at < trust) ...
class content_cache {
 public:
  explicit content_cache(std::uint64_t bytes_max) noexcept : bytes_max_(bytes_max) {}

  /// It then counts as used.
  [[nodiscard]] content* find(std::string_view path);
  /// Takes the place of an entry with the same path. What alone is larger than the bound is kept
  /// until the next one comes.
  content& insert(content&& c);
  /// A representation was added to this entry; others may have to go.
  void grew(content& c);
  void erase(std::string_view path);
  void clear() noexcept;

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t count() const noexcept { return entries_.size(); }
  [[nodiscard]] std::uint64_t evictions() const noexcept { return evictions_; }

 private:
  struct entry;
  using order = std::list<entry>;
  struct entry {
    content held;
    std::uint64_t counted = 0;
    order::iterator self{};
  };
  /// Of eight bytes at a time. Only paths of files that exist stand in the table, so a visitor
  /// cannot fill a place of it with many.
  struct text_hash {
    using is_transparent = void;
    [[nodiscard]] std::size_t operator()(std::string_view text) const noexcept;
  };
  void forget(order::iterator at);
  void shrink();

  std::uint64_t bytes_max_;
  std::uint64_t bytes_ = 0;
  std::uint64_t evictions_ = 0;
  /// Where an entry stands that was asked for lately: found without a division, which the table
  /// needs.
  [[nodiscard]] entry*& near(std::string_view path) noexcept {
    return near_[text_hash()(path) % near_.size()];
  }

  order entries_;  // most recently used first
  std::unordered_map<std::string_view, order::iterator, text_hash, std::equal_to<>> by_path_;
  std::array<entry*, 64> near_{};
};

}  // namespace heddle::http
