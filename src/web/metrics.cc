// SPDX-License-Identifier: MIT
// Formats metrics in the text format of Prometheus.
#include "heddle/web/metrics.hh"

#include <cstdio>

namespace heddle::http {
namespace {

void append_seconds(std::string& out, std::uint64_t ns) {
  char text[40];
  out.append(text, static_cast<std::size_t>(
                       std::snprintf(text, sizeof text, "%llu.%09llu",
                                     static_cast<unsigned long long>(ns / 1'000'000'000),
                                     static_cast<unsigned long long>(ns % 1'000'000'000))));
}

struct limit_counter {
  std::string_view name;
  std::string_view help;
  std::uint64_t server_counters::* value;
};

/// The counters of the server's limits.
constexpr limit_counter limit_counters[] = {
    {"heddle_http_bad_heads_total", "Malformed request heads: 400 and others.",
     &server_counters::bad_heads},
    {"heddle_http_uris_too_long_total", "Request lines over their limit: 414.",
     &server_counters::uris_too_long},
    {"heddle_http_heads_too_large_total", "Heads over their limit of bytes or fields: 431.",
     &server_counters::heads_too_large},
    {"heddle_http_bodies_too_large_total", "Bodies over their limit: 413.",
     &server_counters::bodies_too_large},
    {"heddle_http_bad_bodies_total", "Malformed or incomplete bodies.",
     &server_counters::bad_bodies},
    {"heddle_http_bodies_abandoned_total", "Connections closed on an unread body.",
     &server_counters::bodies_abandoned},
    {"heddle_http_idle_timeouts_total", "Connections closed because they were idle.",
     &server_counters::idle_timeouts},
    {"heddle_http_header_timeouts_total", "Heads that arrived too slowly: 408.",
     &server_counters::header_timeouts},
    {"heddle_http_body_timeouts_total", "Bodies that arrived too slowly: 408.",
     &server_counters::body_timeouts},
    {"heddle_http_write_timeouts_total", "Answers that clients read too slowly.",
     &server_counters::write_timeouts},
    {"heddle_http_full_waits_total", "Times all connections were in use.",
     &server_counters::full_waits},
    {"heddle_http_refused_connections_total", "Connections over the limit per address.",
     &server_counters::refused_connections},
    {"heddle_http_accept_pauses_total", "Pauses: no descriptors or memory left.",
     &server_counters::accept_pauses},
    {"heddle_http_pipeline_pauses_total", "Pipelines paused for other connections.",
     &server_counters::pipeline_pauses},
    {"heddle_http_block_copies_total", "Data copied: receive blocks were scarce.",
     &server_counters::block_copies},
    {"heddle_http_file_parts_short_total", "File parts shortened to save memory.",
     &server_counters::file_parts_short},
};

}  // namespace

void metrics_page::start(std::string_view name, std::string_view help, std::string_view type) {
  (((text_ += "# HELP ") += name) += ' ') += help;
  (((text_ += "\n# TYPE ") += name) += ' ') += type;
  text_ += '\n';
}

metrics_page& metrics_page::counter(std::string_view name, std::string_view help,
                                    std::uint64_t value) {
  start(name, help, "counter");
  ((text_ += name) += ' ') += std::to_string(value);
  text_ += '\n';
  return *this;
}

metrics_page& metrics_page::counters(std::string_view name, std::string_view help,
                                     std::span<const labeled_value> values) {
  return labeled(name, help, "counter", values);
}

metrics_page& metrics_page::gauges(std::string_view name, std::string_view help,
                                   std::span<const labeled_value> values) {
  return labeled(name, help, "gauge", values);
}

metrics_page& metrics_page::labeled(std::string_view name, std::string_view help,
                                    std::string_view type, std::span<const labeled_value> values) {
  if (values.empty()) return *this;
  start(name, help, type);
  for (const labeled_value& each : values) {
    (((text_ += name) += '{') += each.labels) += "} ";
    (text_ += std::to_string(each.value)) += '\n';
  }
  return *this;
}

metrics_page& metrics_page::gauge(std::string_view name, std::string_view help,
                                  std::uint64_t value) {
  start(name, help, "gauge");
  ((text_ += name) += ' ') += std::to_string(value);
  text_ += '\n';
  return *this;
}

metrics_page& metrics_page::summary(std::string_view name, std::string_view help,
                                    const histogram& ns) {
  start(name, help, "summary");
  for (const char* share : {"0.5", "0.9", "0.99", "0.999"}) {
    ((text_ += name) += "{quantile=\"") += share;
    text_ += "\"} ";
    append_seconds(text_, ns.quantile(std::stod(share)));
    text_ += '\n';
  }
  (text_ += name) += "_sum ";
  append_seconds(text_, ns.sum());
  ((text_ += '\n') += name) += "_count " + std::to_string(ns.count()) + '\n';
  return *this;
}

metrics_page& metrics_page::server(const server_counters& c) {
  counter("heddle_http_connections_total", "Connections accepted.", c.connections);
  gauge("heddle_http_connections_open", "Connections open now.", c.open);
  counter("heddle_http_requests_total", "Requests answered.", c.requests);
  counter("heddle_http_sent_bytes_total", "Bytes sent, heads included.", c.bytes);
  counter("heddle_http_errors_total",
          "Answers of 500 and above, and connections that broke during an answer.", c.errors);
  counter("heddle_http_shed_total", "Requests refused because they had waited too long.", c.shed);
  counter("heddle_http_overloads_total", "Times shedding began.", c.overloads);
  gauge("heddle_http_overloaded", "1 while requests may be shed.", c.overloaded);
  counter("heddle_http_accept_holds_total", "Pauses of accepting because of overload.",
          c.accept_holds);
  for (const limit_counter& each : limit_counters) counter(each.name, each.help, c.*each.value);
  summary("heddle_http_queue_delay_seconds", "How long requests waited before they began.",
          c.queue_delay_ns);
  return summary("heddle_http_latency_seconds", "From a parsed head to an answer ready to send.",
                 c.latency_ns);
}

}  // namespace heddle::http
