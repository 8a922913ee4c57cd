// SPDX-License-Identifier: MIT
// An exchange over HTTP/2: one stream of a connection that other requests use too.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "client/exchange.hh"
#include "heddle/client/detail/http2_link.hh"

namespace heddle::http::detail {

/// Owns: its stream.
class exchange_over_http2 final : public client_exchange {
 public:
  exchange_over_http2(std::shared_ptr<http2_link> on, gate::hold permit,
                      std::shared_ptr<const client_options> options, url from, std::string verb,
                      time_point due);
  ~exchange_over_http2() override;

  [[nodiscard]] std::string_view trailer(std::string_view name) const noexcept override;
  [[nodiscard]] bool answered() const noexcept override { return stream_->heard; }
  [[nodiscard]] bool refused() const noexcept override {
    return stream_->trouble && stream_->trouble->refused;
  }
  [[nodiscard]] bool wants_http1() const noexcept override {
    return stream_->trouble && stream_->trouble->wants_http1;
  }

 private:
  [[nodiscard]] task<> send(const outgoing& what, std::string head) override;
  [[nodiscard]] task<> read_head() override;
  [[nodiscard]] bool begin_body() override;
  [[nodiscard]] task<std::string_view> read_raw() override;
  void end_of_body() override;

  [[nodiscard]] task<> wait_for_news(time_point due, const char* where);
  [[noreturn]] void fail_stream() const;

  std::shared_ptr<http2_link> link_;
  std::shared_ptr<client_stream> stream_;
  bool released_ = false;
};

}  // namespace heddle::http::detail
