// SPDX-License-Identifier: MIT
// What `heddle serve` answers with: the parts that one state of the settings chooses, bound to the
// shard's topics. A reload makes another site.
#pragma once

#include <optional>

#include "cli/serve_cross_origin.hh"
#include "cli/serve_folder.hh"
#include "cli/serve_metrics_view.hh"
#include "cli/serve_options.hh"
#include "cli/serve_password.hh"

namespace heddle::cli {

/// Thread: the shard's color. Owns: its parts; it must stay while busy().
/// Fails: the constructor throws as folder's, and then leaves nothing bound.
class site {
 public:
  site(bus& b, const serve_options& o, page_filler fill) : folder_(b, o) {
    if (o.cors) cross_origin_.emplace(b);
    if (!o.auth.empty()) password_.emplace(b, o.auth);
    if (o.metrics) metrics_.emplace(b, std::move(fill));
  }

  /// Gets no more requests; what it has begun goes on.
  void retire() noexcept {
    folder_.retire();
    cross_origin_.reset();
    password_.reset();
    metrics_.reset();
  }

  [[nodiscard]] folder_counters counters() const noexcept { return folder_.counters(); }
  [[nodiscard]] bool busy() const noexcept { return folder_.busy(); }

 private:
  folder folder_;
  std::optional<cross_origin> cross_origin_;
  std::optional<password> password_;
  std::optional<metrics_view> metrics_;
};

}  // namespace heddle::cli
