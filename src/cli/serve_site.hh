// SPDX-License-Identifier: MIT
// What `heddle serve` answers with: a folder, and in front of it the visitor's password, other
// origins, and the metrics. One state of the settings; a reload makes another site.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/serve_options.hh"
#include "heddle/http/metrics.hh"
#include "heddle/http/static_files.hh"

namespace heddle::cli {

/// What a site counts.
struct site_counters {
  http::static_counters files;
  std::uint64_t evictions = 0;
  std::uint64_t cached_bytes = 0;
  std::uint64_t cached = 0;

  site_counters& operator+=(const site_counters& other) noexcept;
};
void show(const site_counters& c, http::metrics_page& page);

/// Thread: one color. Owns: the folder's descriptor and cache; it must stay while busy().
/// Fails: the constructor throws failure when the folder or a header is not good.
class site {
 public:
  /// Fills the metrics page.
  using metrics_function = std::function<task<>(http::metrics_page&)>;
  site(const serve_options& o, metrics_function show_metrics);

  [[nodiscard]] task<http::response> answer(http::request& asked);
  /// Whether a head asks for the page of metrics, as far as its target tells.
  [[nodiscard]] static bool asks_for_metrics(const http::request_head& head) noexcept;
  [[nodiscard]] site_counters counters() const noexcept;
  [[nodiscard]] bool busy() const noexcept { return files_.busy() != 0; }

 private:
  [[nodiscard]] task<http::response> metrics();
  [[nodiscard]] bool admits(const http::request& asked) const noexcept;

  http::static_files files_;
  std::string credentials_;  // what Authorization must say, or nothing
  bool cors_;
  bool metrics_;
  metrics_function show_metrics_;
};

}  // namespace heddle::cli
