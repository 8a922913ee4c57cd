// SPDX-License-Identifier: MIT
// The client's end of an extended CONNECT (RFC 8441): a stream of a connection of HTTP/2, as bytes.
#pragma once

#include <memory>
#include <utility>

#include "heddle/client/detail/http2_link.hh"
#include "heddle/http/detail/http2_tunnel.hh"

namespace heddle::http::detail {

/// Owns: its stream, whose head has come.
class http2_client_tunnel final : public http2_tunnel {
 public:
  http2_client_tunnel(std::shared_ptr<http2_link> link, std::shared_ptr<client_stream> on) noexcept
      : link_(std::move(link)), stream_(std::move(on)) {}
  ~http2_client_tunnel() override { close(true); }

  [[nodiscard]] task<std::string_view> read() override;
  [[nodiscard]] task<> write(std::string_view bytes) override;
  [[nodiscard]] std::size_t write_now(std::string_view bytes) override;
  [[nodiscard]] task<> writable() override { return write({}); }
  void end() noexcept override;
  void close(bool reset) noexcept override;
  [[nodiscard]] address peer() const noexcept override { return link_->connection().peer(); }

 private:
  [[noreturn]] void fail() const;

  std::shared_ptr<http2_link> link_;
  std::shared_ptr<client_stream> stream_;
  bool closed_ = false;
};

}  // namespace heddle::http::detail
