// SPDX-License-Identifier: MIT
// The state that a proxy's requests share: options, upstreams, the choice between them, and the
// task that checks their health.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/proxy/reverse_proxy.hh"
#include "heddle/web/incoming.hh"
#include "proxy/body_buffers.hh"
#include "proxy/upstream.hh"

namespace heddle::http::detail {

class proxy_core : public std::enable_shared_from_this<proxy_core> {
 public:
  explicit proxy_core(proxy_options from);

  /// Starts the tasks beside requests, once: health checks, and closing idle connections.
  void start();
  /// The upstream for a request; null if none may be tried. `tried` are left out.
  [[nodiscard]] upstream* choose(const address& client, const std::vector<upstream*>& tried);
  /// A line about a request that failed because of an upstream; some a second are let through.
  void tell(const std::string& line);

  const proxy_options options;
  std::vector<std::unique_ptr<upstream>> upstreams;
  const std::shared_ptr<body_buffers> buffers = std::make_shared<body_buffers>();

 private:
  [[nodiscard]] upstream* best_of(const address& client, const std::vector<upstream*>& candidates);
  [[nodiscard]] static task<> sweep_all(std::weak_ptr<proxy_core> of);
  [[nodiscard]] static task<> check_health(std::weak_ptr<proxy_core> of, std::size_t index);

  std::size_t next_ = 0;  // for taking turns
  bool started_ = false;
  std::vector<upstream*> candidates_;  // memory that choose() uses again
  time_point told_since_ = time_point::min();
  std::uint32_t told_ = 0;  // in this second
  std::uint64_t untold_ = 0;
};

}  // namespace heddle::http::detail
