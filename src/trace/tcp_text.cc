// SPDX-License-Identifier: MIT
// Connections of a packet trace as a table for people, and as JSON for scripts.
#include <cstdio>
#include <utility>

#include "heddle/probe/json.hh"
#include "trace/tcp_trace.hh"

namespace heddle::trace {
namespace {

std::string host_and_port(const tcp::endpoint& e) {
  const std::string host = e.address.text();
  return (e.address.is_v4() ? host : "[" + host + "]") + ":" + std::to_string(e.port);
}

double seconds_of(tcp::instant us) { return static_cast<double>(us) / 1e6; }

std::string decimal(double v) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6f", v);
  return text;
}

std::string json_of(const traced_connection& c, const traced_direction& d) {
  std::string json = "{\"from\":" + json_quoted(host_and_port(d.from)) +
                     ",\"to\":" + json_quoted(host_and_port(d.to)) +
                     ",\"bytes\":" + std::to_string(d.bytes) +
                     ",\"bytes_again\":" + std::to_string(d.bytes_again) +
                     ",\"segments\":" + std::to_string(d.segments) +
                     ",\"segments_again\":" + std::to_string(d.segments_again) +
                     ",\"rtt_min_us\":" + std::to_string(d.rtt_min_us) +
                     ",\"rtt_median_us\":" + std::to_string(d.rtt_median_us) + ",\"pauses\":[";
  const char* comma = "";
  for (const traced_pause& p : d.pauses)
    json += std::exchange(comma, ",") + std::string("[") + decimal(seconds_of(p.from - c.first)) +
            "," + decimal(seconds_of(p.to - c.first)) + "]";
  json += "],\"data\":[";
  comma = "";
  for (const traced_data& x : d.data)
    json += std::exchange(comma, ",") + std::string("[") + decimal(seconds_of(x.at - c.first)) +
            "," + std::to_string(x.begin) + "," + std::to_string(x.end) + "," +
            (x.again ? "1" : "0") + "]";
  json += "],\"acks\":[";
  comma = "";
  for (const traced_ack& a : d.acks)
    json += std::exchange(comma, ",") + std::string("[") + decimal(seconds_of(a.at - c.first)) +
            "," + std::to_string(a.upto) + "," + std::to_string(a.window_end) + "]";
  json += "],\"windows\":[";
  comma = "";
  for (const traced_window& w : d.windows)
    json += std::exchange(comma, ",") + std::string("[") + decimal(seconds_of(w.at - c.first)) +
            "," + std::to_string(w.window) + "," + std::to_string(w.threshold) + "," +
            (w.recovering ? "1" : "0") + "]";
  json += "],\"in_flight\":[";
  comma = "";
  for (const traced_flight& f : d.flight)
    json += std::exchange(comma, ",") + std::string("[") + decimal(seconds_of(f.at - c.first)) +
            "," + std::to_string(f.bytes) + "]";
  return json + "]}";
}

}  // namespace

std::string trace_json(const tcp_trace& t) {
  std::string json = "{\"schema\":1,\"packets\":" + std::to_string(t.packets) +
                     ",\"others\":" + std::to_string(t.others) +
                     ",\"trouble\":" + json_quoted(t.trouble) + ",\"connections\":[";
  const char* comma = "";
  for (const traced_connection& c : t.connections)
    json += std::exchange(comma, ",") + std::string("{\"began\":") + decimal(seconds_of(c.first)) +
            ",\"lasted_s\":" + decimal(seconds_of(c.last - c.first)) +
            ",\"opened\":" + (c.opened ? "true" : "false") +
            ",\"reset\":" + (c.reset ? "true" : "false") + ",\"forth\":" + json_of(c, c.forth) +
            ",\"back\":" + json_of(c, c.back) + "}";
  return json + "]}\n";
}

std::string trace_table(const tcp_trace& t) {
  std::string text = "   nr  lasted        forth         back  again  pauses  connection\n";
  std::size_t number = 0;
  for (const traced_connection& c : t.connections) {
    char row[256];
    tcp::instant paused = 0;
    for (const traced_direction* d : {&c.forth, &c.back})
      for (const traced_pause& p : d->pauses) paused += p.to - p.from;
    std::snprintf(row, sizeof row, "%5zu %6.3f s %10llu B %10llu B %6zu %5.2f s  %s > %s%s\n",
                  ++number, seconds_of(c.last - c.first),
                  static_cast<unsigned long long>(c.forth.bytes),
                  static_cast<unsigned long long>(c.back.bytes),
                  c.forth.segments_again + c.back.segments_again, seconds_of(paused),
                  host_and_port(c.forth.from).c_str(), host_and_port(c.forth.to).c_str(),
                  c.reset ? ", reset" : "");
    text += row;
  }
  return text;
}

}  // namespace heddle::trace
