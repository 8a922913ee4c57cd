// SPDX-License-Identifier: MIT
// An answer as its user sees it, over an exchange of any version of HTTP.
#include "heddle/client/answer.hh"

#include "client/exchange.hh"

namespace heddle::http {

answer::answer(std::unique_ptr<detail::client_exchange> on) noexcept : on_(std::move(on)) {}
answer::answer(answer&&) noexcept = default;
answer& answer::operator=(answer&&) noexcept = default;
answer::~answer() = default;

const response_head& answer::head() const noexcept { return on_->head(); }
const url& answer::from() const noexcept { return on_->from(); }
std::string_view answer::trailer(std::string_view name) const noexcept {
  return on_->trailer(name);
}

task<std::string_view> answer::read() { return on_->read(); }

task<std::string> answer::text(std::uint64_t bytes_max) {
  std::string all;
  for (;;) {
    const std::string_view part = co_await on_->read();
    if (part.empty()) co_return all;
    if (part.size() > bytes_max - all.size())
      on_->fail(
          std::make_error_code(std::errc::message_size),
          "the body is larger than " + std::to_string(bytes_max) +
              " bytes; read it in parts with open(), or raise client_options::body_bytes_max");
    all += part;
  }
}

}  // namespace heddle::http
