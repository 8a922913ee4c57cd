// SPDX-License-Identifier: MIT
// --metrics: the page at /metrics, for clients on this machine only, even while requests are shed.
#pragma once

#include <functional>

#include "heddle/web/metrics.hh"
#include "serve/topics.hh"

namespace heddle::serve {

/// Fills a page; it may wait for other colors meanwhile. Keep the filler alive until it has
/// returned.
using page_filler = std::function<task<>(http::metrics_page&)>;

/// Thread: the shard's color. Owns: its bindings; a page in progress does not need the view.
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

}  // namespace heddle::serve
