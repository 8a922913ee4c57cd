// SPDX-License-Identifier: MIT
// The carrier of one request to its server: a stream of a connection of HTTP/2, which other
// requests use too, or a connection of HTTP/1.1 alone.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "client/pool.hh"
#include "heddle/client/detail/http2_link.hh"

namespace heddle::http::detail {

/// Owns: a permit for one stream, or a lease.
struct carrier {
  std::shared_ptr<http2_link> link;  ///< null: HTTP/1.1
  gate::hold stream;
  std::optional<lease> alone;
  bool reused = false;  ///< the connection was there
};

/// The connections of an origin, for as long as a function chooses among them.
class origin_hold {
 public:
  origin_hold(std::shared_ptr<connection_pool> pool, const std::string& key)
      : pool_(std::move(pool)), of_(pool_->origin(key)) {}
  origin_hold(const origin_hold&) = delete;
  ~origin_hold() { pool_->done_with(std::move(of_)); }

  [[nodiscard]] origin_connections& operator*() const noexcept { return *of_; }
  [[nodiscard]] origin_connections* operator->() const noexcept { return of_.get(); }
  [[nodiscard]] lease lend() const { return pool_->of(of_); }

 private:
  std::shared_ptr<connection_pool> pool_;
  std::shared_ptr<origin_connections> of_;
};

}  // namespace heddle::http::detail
