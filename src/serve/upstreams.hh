// SPDX-License-Identifier: MIT
// The part of `heddle proxy` that answers: it sends requests on to other servers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "heddle/proxy/reverse_proxy.hh"
#include "heddle/web/metrics.hh"
#include "serve/options.hh"
#include "serve/topics.hh"

namespace heddle::serve {

/// The counters of each upstream, by name. Tables of several workers add up; an upstream counts as
/// up if every worker finds it up.
class upstream_table {
 public:
  void add(std::string name, const http::upstream_counters& c);
  upstream_table& operator+=(const upstream_table& other);
  [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }

 private:
  friend void show(const upstream_table& t, http::metrics_page& page);
  std::vector<std::pair<std::string, http::upstream_counters>> rows_;
};
void show(const upstream_table& t, http::metrics_page& page);

/// Thread: the shard's color. Owns: its bindings and the connections to upstreams; do not destroy
/// it while busy(). Fails: the constructor throws failure if an upstream cannot be used.
class upstream_part {
 public:
  upstream_part(bus& b, const serve_options& o);
  upstream_part(const upstream_part&) = delete;
  upstream_part& operator=(const upstream_part&) = delete;
  ~upstream_part() { retire(); }

  flow on_asked(question& q);
  void on_made_here(http::response& r);

  /// Unbinds the part from new requests; requests in progress continue.
  void retire() noexcept { bus_.unbind_all(this); }
  /// Begins health checks. Call it when the shard serves.
  void start() const { to_.start(); }

  [[nodiscard]] upstream_table counters() const;
  [[nodiscard]] bool busy() const noexcept;

 private:
  bus& bus_;
  std::vector<std::pair<std::string, std::string>> fields_;  // header fields of every answer
  http::reverse_proxy to_;
};

}  // namespace heddle::serve
