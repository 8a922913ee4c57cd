// SPDX-License-Identifier: MIT
// --metrics: the page at /metrics, for this machine only, also while others are refused.
#pragma once

#include <functional>

#include "cli/serve_topics.hh"
#include "heddle/http/metrics.hh"

namespace heddle::cli {

/// Fills a page, and may wait for other colors while it does. It must outlive what it has begun.
using page_filler = std::function<task<>(http::metrics_page&)>;

/// Thread: the shard's color. Owns: its bindings; a page that is being made does not need it.
class metrics_view {
 public:
  metrics_view(bus& b, page_filler fill);
  metrics_view(const metrics_view&) = delete;
  metrics_view& operator=(const metrics_view&) = delete;
  ~metrics_view() { bus_.unbind_all(this); }

  flow on_asked(question& q);
  flow on_overdue(const http::request_head& head);

 private:
  bus& bus_;
  page_filler fill_;
};

}  // namespace heddle::cli
