// SPDX-License-Identifier: MIT
// The folder that is served. It answers all requests that no part before it has answered.
#pragma once

#include "heddle/web/metrics.hh"
#include "heddle/web/page_files.hh"
#include "heddle/web/static_files.hh"
#include "serve/options.hh"
#include "serve/topics.hh"

namespace heddle::serve {

/// The counters of a folder.
struct folder_counters {
  http::static_counters files;
  std::uint64_t evictions = 0;
  std::uint64_t cached_bytes = 0;
  std::uint64_t cached = 0;
  std::uint64_t held_bytes = 0;

  folder_counters& operator+=(const folder_counters& other) noexcept;
};
void show(const folder_counters& c, http::metrics_page& page);

/// Reads the pages of all folders, and gives their errors, one line each; none without --pages.
/// Fails: throws failure if a folder cannot be read.
[[nodiscard]] task<std::vector<std::string>> check_pages(const serve_options& o);

/// Thread: the shard's color. Owns: its bindings, the folder's descriptor and cache; do not destroy
/// it while busy(). Fails: the constructor throws failure if the folder cannot be used or a header
/// is invalid.
class folder {
 public:
  /// Makes a folder that answers only the requests that on_asked() gets.
  explicit folder(const serve_options& o);
  /// Makes a folder that answers all requests that no part before it has answered.
  folder(bus& b, const serve_options& o);
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder() { retire(); }

  flow on_asked(question& q);
  void on_made_here(http::response& r);

  /// Unbinds the folder from new requests; requests in progress continue.
  void retire() noexcept {
    if (bus_ != nullptr) bus_->unbind_all(this);
  }

  [[nodiscard]] folder_counters counters() const noexcept;
  [[nodiscard]] bool busy() const noexcept {
    return files_.busy() != 0 || (pages_ && pages_->busy() != 0);
  }

 private:
  folder(const serve_options& o, bool main);
  [[nodiscard]] task<http::response> with_fields(http::request& asked);
  [[nodiscard]] task<http::response> with_pages(http::request& asked);
  void complete(http::request& asked, http::response& head) const;

  bus* bus_ = nullptr;
  http::static_files files_;
  std::vector<path_field> fields_;
  std::optional<http::page_files> pages_;  // set with --pages
};

}  // namespace heddle::serve
