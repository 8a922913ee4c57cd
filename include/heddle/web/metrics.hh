// SPDX-License-Identifier: MIT
// The metrics page: counters in the text format of Prometheus (version 0.0.4). Times are in
// seconds, sizes in bytes. The latency is a summary, because its quantiles are known to within 12.5
// %.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "heddle/web/server.hh"

namespace heddle::http {

inline constexpr std::string_view metrics_type = "text/plain; version=0.0.4; charset=utf-8";

/// One of several values under one metric name: its labels, e.g. `method="GET",class="2xx"`.
struct labeled_value {
  std::string_view labels;  ///< as in the output: quoted, and escaped if necessary
  std::uint64_t value = 0;
};

/// Assembles metrics into one page.
///
///   metrics_page page;
///   page.server(web.counters()).counter("site_orders_total", "Orders taken.", orders);
///   return response(200).body(metrics_type, std::move(page).text());
class metrics_page {
 public:
  metrics_page& server(const server_counters& c);
  metrics_page& counter(std::string_view name, std::string_view help, std::uint64_t value);
  /// Adds one line for each value. If there are none, the name is left out too.
  metrics_page& counters(std::string_view name, std::string_view help,
                         std::span<const labeled_value> values);
  metrics_page& gauges(std::string_view name, std::string_view help,
                       std::span<const labeled_value> values);
  metrics_page& gauge(std::string_view name, std::string_view help, std::uint64_t value);
  /// Adds a summary; converts nanoseconds to seconds.
  metrics_page& summary(std::string_view name, std::string_view help, const histogram& ns);
  [[nodiscard]] std::string text() && { return std::move(text_); }

 private:
  metrics_page& labeled(std::string_view name, std::string_view help, std::string_view type,
                        std::span<const labeled_value> values);
  void start(std::string_view name, std::string_view help, std::string_view type);
  std::string text_;
};

}  // namespace heddle::http
