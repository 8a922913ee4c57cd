// SPDX-License-Identifier: MIT
// The connections of a client, by origin (server_connections.hh). One task looks at the unused ones
// of all origins, as long as there is an origin. Everything happens in the client's color.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "heddle/client/detail/server_connections.hh"
#include "heddle/client/options.hh"
#include "heddle/core/deadline.hh"

namespace heddle::http::detail {

/// One connection of HTTP/1.1 for one request. It is closed at the end, unless keep() was called.
class lease {
 public:
  lease(std::shared_ptr<server_connections> of, place&& got) noexcept
      : on(std::move(got.alone)), of_(std::move(of)), permit_(std::move(got.permit)) {}
  lease(lease&&) noexcept = default;
  lease& operator=(lease&&) = delete;
  ~lease() { end(); }

  /// Requests to the same origin may use the connection.
  void keep() {
    if (of_ != nullptr) of_->keep(std::move(on));
    end();
  }
  void end() noexcept {
    if (on) on.close();
    permit_.release();
    of_ = nullptr;
  }

  stream on;

 private:
  std::shared_ptr<server_connections> of_;
  gate::hold permit_;  // a place among the origin's connections
};

class connection_pool : public std::enable_shared_from_this<connection_pool> {
 public:
  explicit connection_pool(std::shared_ptr<const client_options> options);
  connection_pool(const connection_pool&) = delete;

  /// The pool forgets an origin that has no connection and that no request keeps.
  [[nodiscard]] std::shared_ptr<server_connections> of(const std::string& origin, offered versions);
  /// Closes unused connections. A connection that serves a request is closed when that ends.
  void shut() noexcept;
  [[nodiscard]] std::size_t idle() const noexcept { return unused_->count; }

 private:
  [[nodiscard]] static task<> sweep_all(std::shared_ptr<connection_pool> self);
  [[nodiscard]] task<> sweep_once();

  const std::shared_ptr<const client_options> options_;
  const std::shared_ptr<unused_limit> unused_;
  std::unordered_map<std::string, std::shared_ptr<server_connections>> origins_;
  cancel_source shut_;
  bool sweeps_ = false;
};

}  // namespace heddle::http::detail
