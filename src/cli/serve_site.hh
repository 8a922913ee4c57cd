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

/// Thread: one color. Owns: the folder's descriptor and cache; it must stay while busy().
/// Fails: the constructor throws failure when the folder or a header is not good.
class site {
 public:
  /// `own_metrics` adds to the page what only the caller counts.
  site(const serve_options& o, std::function<void(http::metrics_page&)> own_metrics);

  [[nodiscard]] task<http::response> answer(http::request& asked);
  /// Whether a head asks for the page of metrics, as far as its target tells.
  [[nodiscard]] static bool asks_for_metrics(const http::request_head& head) noexcept;
  [[nodiscard]] bool busy() const noexcept { return files_.busy() != 0; }

 private:
  [[nodiscard]] bool admits(const http::request& asked) const noexcept;

  http::static_files files_;
  std::string credentials_;  // what Authorization must say, or nothing
  bool cors_;
  bool metrics_;
  std::function<void(http::metrics_page&)> own_metrics_;
};

}  // namespace heddle::cli
