// SPDX-License-Identifier: MIT
// A site: the parts of `heddle serve` that answer requests under one state of the settings, bound
// to the shard's topics. A reload makes another site.
#pragma once

#include <optional>

#include "serve/archives.hh"
#include "serve/cross_origin.hh"
#include "serve/folder.hh"
#include "serve/metrics_view.hh"
#include "serve/named_sites.hh"
#include "serve/options.hh"
#include "serve/password.hh"
#include "serve/uploads.hh"
#include "serve/upstreams.hh"

namespace heddle::serve {

/// Thread: the shard's color. Owns: its parts; do not destroy it while busy().
/// Fails: the constructor throws as folder's does, and then leaves nothing bound.
class site {
 public:
  site(bus& b, const serve_options& o, page_filler fill) {
    if (o.is_proxy) {
      upstreams_.emplace(b, o);
    } else {
      folder_.emplace(b, o);
    }
    if (!o.sites.empty()) named_.emplace(b, o);
    if (!o.redirects.empty()) redirects_.emplace(b, o.redirects);
    if (!o.rates.empty()) rates_.emplace(b, o.rates, o.server.trusted);
    if (!o.uploads.empty()) uploads_.emplace(b, o);
    if (o.archives) archives_.emplace(b, o);
    if (o.cors) cross_origin_.emplace(b);
    if (!o.auth.empty()) password_.emplace(b, o.auth);
    if (o.metrics) metrics_.emplace(b, std::move(fill));
  }

  /// Unbinds the site from new requests; requests in progress continue.
  void retire() noexcept {
    if (folder_) folder_->retire();
    if (upstreams_) upstreams_->retire();
    if (named_) named_->retire();
    redirects_.reset();
    rates_.reset();
    uploads_.reset();
    archives_.reset();
    cross_origin_.reset();
    password_.reset();
    metrics_.reset();
  }

  [[nodiscard]] folder_counters counters() const noexcept {
    folder_counters sum = folder_ ? folder_->counters() : folder_counters();
    if (named_) sum += named_->counters();
    return sum;
  }
  /// Call it when the shard serves.
  void start() const {
    if (upstreams_) upstreams_->start();
  }
  [[nodiscard]] upstream_table upstreams() const {
    return upstreams_ ? upstreams_->counters() : upstream_table();
  }
  [[nodiscard]] bool busy() const noexcept {
    return (folder_ && folder_->busy()) || (upstreams_ && upstreams_->busy()) ||
           (named_ && named_->busy());
  }

 private:
  std::optional<folder> folder_;
  std::optional<upstream_part> upstreams_;
  std::optional<named_sites> named_;
  std::optional<redirects> redirects_;
  std::optional<rate_limit> rates_;
  std::optional<uploads> uploads_;
  std::optional<archives> archives_;
  std::optional<cross_origin> cross_origin_;
  std::optional<password> password_;
  std::optional<metrics_view> metrics_;
};

}  // namespace heddle::serve
