// SPDX-License-Identifier: MIT
// A bounded, least-recently-used cache of files ready to be sent: for each path, its
// representations (plain and compressed) with their header lines assembled. The cache never checks
// the files itself. Its user checks a file again when the entry is older than it trusts
// (static_files: once a second).
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "heddle/base/clock.hh"
#include "heddle/http/content_coding.hh"
#include "heddle/http/etag.hh"
#include "heddle/io/chain.hh"

namespace heddle::http {

/// The state of a file when it was opened. If the facts differ, the file is read again.
struct file_facts : file_identity {
  std::int64_t modified = 0;  ///< modified_ns in seconds, for Last-Modified; may be before 1970
  bool operator==(const file_facts&) const = default;
};

/// One form of a file's content.
struct representation {
  file_facts facts;  ///< facts about the file that this form was read from
  std::string etag;
  piece lines;                   ///< header lines that every answer with it has, then length_line
  std::uint8_t length_line = 0;  ///< bytes of the Content-Length line at their end
  piece body;

  /// The lines for an answer with a part of the body, or without a body.
  [[nodiscard]] piece lines_of_part() const noexcept {
    return lines.slice(0, lines.size() - length_line);
  }
};

/// All that the cache knows of one path.
struct content {
  std::string path;
  std::string_view type;
  representation plain;
  std::array<representation, content_coding_count> coded;
  coding_set codings;    ///< the codings that `coded` has
  coding_set tried;      ///< compression as these was started, or is not wanted
  bool packing = false;  ///< one of them is being made now
  bool clean = false;    ///< a page that its clean path led to when that was last looked up
  time_point seen_at{};  ///< when the files were last checked

  [[nodiscard]] const representation& in(content_coding c) const noexcept {
    return c == content_coding::identity ? plain : coded[static_cast<std::size_t>(c)];
  }
  [[nodiscard]] representation& in(content_coding c) noexcept {
    return c == content_coding::identity ? plain : coded[static_cast<std::size_t>(c)];
  }
  /// Memory that the entry takes, bookkeeping included, so that many small files are bounded too.
  [[nodiscard]] std::uint64_t bytes() const noexcept;
};

/// Thread: one color. Owns: its entries. A reference to an entry is valid until the next insert()
/// or erase(); pieces of an entry that are being sent stay alive by their own count.
///
///   if (content* c = cache.find(path); c != nullptr && now - c->seen_at < trust) ...
class content_cache {
 public:
  explicit content_cache(std::uint64_t bytes_max) noexcept : bytes_max_(bytes_max) {}

  /// Finds an entry and marks it as used now.
  [[nodiscard]] content* find(std::string_view path);
  /// Replaces an entry with the same path. An entry that alone exceeds the bound is kept until the
  /// next insert().
  content& insert(content&& c);
  /// Call it after adding a representation to an entry; the cache may drop other entries.
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
  /// Hashes eight bytes at a time. The table holds only paths of existing files, so visitors cannot
  /// make it degrade with colliding paths.
  struct text_hash {
    using is_transparent = void;
    [[nodiscard]] std::size_t operator()(std::string_view text) const noexcept;
  };
  void forget(order::iterator at);
  void shrink();

  std::uint64_t bytes_max_;
  std::uint64_t bytes_ = 0;
  std::uint64_t evictions_ = 0;
  /// The slot for this path in a small index of recently used entries. Unlike by_path_, the index
  /// needs no division.
  [[nodiscard]] entry*& near(std::string_view path) noexcept {
    return near_[text_hash()(path) % near_.size()];
  }

  order entries_;  // most recently used first
  std::unordered_map<std::string_view, order::iterator, text_hash, std::equal_to<>> by_path_;
  std::array<entry*, 64> near_{};
};

}  // namespace heddle::http
