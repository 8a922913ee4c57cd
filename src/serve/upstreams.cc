// SPDX-License-Identifier: MIT
// Binds a reverse proxy to the topics, shows its counters, and reports changes of its upstreams.
#include "serve/upstreams.hh"

#include <algorithm>

#include "heddle/http/detail/fixed_fields.hh"

namespace heddle::serve {
namespace {

http::proxy_options settings_of_proxy(const serve_options& o) {
  http::proxy_options p = o.proxy;
  p.secure = o.secure();
  p.trusted = o.server.trusted_proxies;
  p.log = [around = o.around](std::string_view line) { around->report(line); };
  return p;
}

std::string label_of(std::string_view name) {
  std::string label = "upstream=\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') label += '\\';
    label += c;
  }
  return label + '"';
}

}  // namespace

void upstream_table::add(std::string name, const http::upstream_counters& c) {
  const auto found = std::ranges::find(rows_, name, [](const auto& row) { return row.first; });
  if (found == rows_.end()) {
    rows_.emplace_back(std::move(name), c);
  } else {
    found->second += c;
  }
}

upstream_table& upstream_table::operator+=(const upstream_table& other) {
  for (const auto& [name, c] : other.rows_) add(name, c);
  return *this;
}

void show(const upstream_table& t, http::metrics_page& page) {
  std::vector<std::string> labels;
  for (const auto& row : t.rows_) labels.push_back(label_of(row.first));
  const auto column = [&](auto value) {
    std::vector<http::labeled_value> all;
    for (std::size_t i = 0; i < labels.size(); ++i)
      all.push_back({labels[i], static_cast<std::uint64_t>(value(t.rows_[i].second))});
    return all;
  };
  using counts = http::upstream_counters;
  page.gauges("heddle_upstream_up", "1 if requests are sent there.",
              column([](const counts& c) { return c.up; }))
      .counters("heddle_upstream_requests_total", "Requests sent, repeated ones included.",
                column([](const counts& c) { return c.requests; }))
      .counters("heddle_upstream_answers_total", "Answers whose head came.",
                column([](const counts& c) { return c.answers; }))
      .counters("heddle_upstream_failures_total", "Refused, broken, malformed or late.",
                column([](const counts& c) { return c.failures; }))
      .counters("heddle_upstream_retries_total", "Requests sent again because of it.",
                column([](const counts& c) { return c.retries; }))
      .counters("heddle_upstream_downs_total", "Times it went down.",
                column([](const counts& c) { return c.downs; }))
      .counters("heddle_upstream_connections_total", "Connections opened.",
                column([](const counts& c) { return c.connections; }))
      .counters("heddle_upstream_reused_total", "Requests on a connection that was there.",
                column([](const counts& c) { return c.reused; }))
      .gauges("heddle_upstream_active", "Requests in progress.",
              column([](const counts& c) { return c.active; }))
      .gauges("heddle_upstream_idle", "Connections that wait for a request.",
              column([](const counts& c) { return c.idle; }));
}

upstream_part::upstream_part(bus& b, const serve_options& o)
    : bus_(b), fields_(o.fields_of_answers()), to_(settings_of_proxy(o)) {
  static_cast<void>(http::checked_lines(fields_));  // throws
  b.bind<asked, &upstream_part::on_asked>(this, 90);
  if (!fields_.empty()) b.bind<made_here, &upstream_part::on_made_here>(this, 10);
}

flow upstream_part::on_asked(question& q) {
  for (const auto& [name, value] : fields_) q.request.add_header(name, value);
  q.answer = to_(q.request);
  return flow::halt;
}

void upstream_part::on_made_here(http::response& r) {
  for (const auto& [name, value] : fields_) r.header(name, value);
}

upstream_table upstream_part::counters() const {
  upstream_table all;
  for (std::size_t i = 0; i < to_.upstreams(); ++i) all.add(to_.name(i), to_.counters(i));
  return all;
}

bool upstream_part::busy() const noexcept {
  for (std::size_t i = 0; i < to_.upstreams(); ++i)
    if (to_.counters(i).active != 0) return true;
  return false;
}

}  // namespace heddle::serve
