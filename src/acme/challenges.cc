// SPDX-License-Identifier: MIT
// Answers to http-01.
#include "heddle/acme/challenges.hh"

namespace heddle::acme {

void challenge_answers::set(std::string token, std::string authorization) {
  const std::scoped_lock held(lock_);
  by_token_.insert_or_assign(std::move(token), std::move(authorization));
}

void challenge_answers::drop(std::string_view token) noexcept {
  const std::scoped_lock held(lock_);
  if (const auto at = by_token_.find(token); at != by_token_.end()) by_token_.erase(at);
}

std::optional<http::response> challenge_answers::answer(const http::request_head& head) const {
  if (!head.path().starts_with(challenge_path)) return std::nullopt;
  const std::string_view token = head.path().substr(challenge_path.size());
  std::string text;
  {
    const std::scoped_lock held(lock_);
    const auto at = by_token_.find(token);
    if (at == by_token_.end())
      return http::response(404).text("no certificate authority was promised an answer here\n");
    text = at->second;
  }
  return http::response(200)
      .header("Cache-Control", "no-store")
      .body("application/octet-stream", std::move(text));
}

}  // namespace heddle::acme
