// SPDX-License-Identifier: MIT
// Numbers as text; the form is Prometheus's.
#include "heddle/http/metrics.hh"

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
  counter("heddle_http_connections_total", "Connections taken.", c.connections);
  gauge("heddle_http_connections_open", "Connections that are open.", c.open);
  counter("heddle_http_requests_total", "Requests answered.", c.requests);
  counter("heddle_http_sent_bytes_total", "Bytes sent, heads included.", c.bytes);
  counter("heddle_http_errors_total",
          "Answers of 500 and above, and connections that broke in an answer.", c.errors);
  counter("heddle_http_shed_total", "Requests refused because they had waited too long.", c.shed);
  counter("heddle_http_overloads_total", "Times at which shedding began.", c.overloads);
  gauge("heddle_http_overloaded", "1 while requests may be shed.", c.overloaded);
  counter("heddle_http_accept_holds_total", "Pauses of accepting because of overload.",
          c.accept_holds);
  summary("heddle_http_queue_delay_seconds", "What requests waited before they were begun.",
          c.queue_delay_ns);
  return summary("heddle_http_latency_seconds",
                 "From a parsed head to an answer that is ready to be sent.", c.latency_ns);
}

}  // namespace heddle::http
