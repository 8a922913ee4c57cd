// SPDX-License-Identifier: MIT
// An exchange over HTTP/1.1, on a leased connection. A small request is sent in one write. A large
// or streamed body is sent by a task of its own, so that a server may answer before it has read
// all of it, and both may go on at once.
#pragma once

#include <string>
#include <string_view>

#include "client/exchange.hh"
#include "client/pool.hh"
#include "heddle/http/detail/http1_answer.hh"

namespace heddle::http::detail {

/// Owns: its lease.
class exchange_over_http1 final : public client_exchange {
 public:
  exchange_over_http1(lease&& on, std::shared_ptr<const client_options> options, url from,
                      std::string verb, time_point due)
      : client_exchange(std::move(options), std::move(from), std::move(verb), due),
        lease_(std::move(on)),
        answer_(options_->bounds) {}

  [[nodiscard]] std::string_view trailer(std::string_view name) const noexcept override;
  [[nodiscard]] bool answered() const noexcept override { return answer_.begun(); }

 private:
  [[nodiscard]] task<> send(const outgoing& what, std::string head) override;
  [[nodiscard]] task<> read_head() override;
  [[nodiscard]] bool begin_body() override;
  [[nodiscard]] task<std::string_view> read_raw() override;
  void end_of_body() override;

  [[nodiscard]] task<> read_one_head();
  [[nodiscard]] task<bool> more(nanoseconds patience, const char* where);
  [[nodiscard]] task<bool> more_head(time_point& due);

  lease lease_;
  http1_answer answer_;
  bool ended_ = false;
};

}  // namespace heddle::http::detail
