// SPDX-License-Identifier: MIT
// The folder that is served. It answers whatever nobody before it has answered.
#pragma once

#include "cli/serve_options.hh"
#include "cli/serve_topics.hh"
#include "heddle/http/metrics.hh"
#include "heddle/http/static_files.hh"

namespace heddle::cli {

/// What a folder counts.
struct folder_counters {
  http::static_counters files;
  std::uint64_t evictions = 0;
  std::uint64_t cached_bytes = 0;
  std::uint64_t cached = 0;
  std::uint64_t held_bytes = 0;

  folder_counters& operator+=(const folder_counters& other) noexcept;
};
void show(const folder_counters& c, http::metrics_page& page);

/// Thread: the shard's color. Owns: its bindings, the folder's descriptor and cache; it must stay
/// while busy(). Fails: the constructor throws failure when the folder or a header is not good.
class folder {
 public:
  folder(bus& b, const serve_options& o);
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder() { retire(); }

  flow on_asked(question& q);
  void on_made_here(http::response& r);

  /// Gets no more requests; what it has begun goes on.
  void retire() noexcept { bus_.unbind_all(this); }

  [[nodiscard]] folder_counters counters() const noexcept;
  [[nodiscard]] bool busy() const noexcept { return files_.busy() != 0; }

 private:
  bus& bus_;
  http::static_files files_;
};

}  // namespace heddle::cli
