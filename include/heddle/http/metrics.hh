// SPDX-License-Identifier: MIT
// The metrics page: counters in the text form that Prometheus reads (version 0.0.4). Times are in
// seconds, sizes in bytes; the latency is a summary, since its quantiles are known to 12.5 %.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "heddle/http/server.hh"

namespace heddle::http {

inline constexpr std::string_view metrics_type = "text/plain; version=0.0.4; charset=utf-8";

/// One value of several that have one name: `method="GET",class="2xx"` and how often.
struct labeled_value {
  std::string_view labels;  ///< as they stand in the text: quoted, and escaped where need be
  std::uint64_t value = 0;
};

/// Gathers metrics into one page.
///
///   metrics_page page;
///   page.server(web.counters()).counter("site_orders_total", "Orders taken.", orders);
///   return response(200).body(metrics_type, std::move(page).text());
class metrics_page {
 public:
  metrics_page& server(const server_counters& c);
  metrics_page& counter(std::string_view name, std::string_view help, std::uint64_t value);
  /// One line for each; none, and the name is not shown either.
  metrics_page& counters(std::string_view name, std::string_view help,
                         std::span<const labeled_value> values);
  metrics_page& gauge(std::string_view name, std::string_view help, std::uint64_t value);
  /// Nanoseconds become seconds.
  metrics_page& summary(std::string_view name, std::string_view help, const histogram& ns);
  [[nodiscard]] std::string text() && { return std::move(text_); }

 private:
  void start(std::string_view name, std::string_view help, std::string_view type);
  std::string text_;
};

}  // namespace heddle::http
