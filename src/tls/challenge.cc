// SPDX-License-Identifier: MIT
// The table of certificates that answer challenges.
#include "heddle/tls/challenge.hh"

namespace heddle::tls {
namespace {

std::string in_lower_case(std::string_view name) {
  std::string text(name);
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

}  // namespace

void challenge_table::set(std::string name, pem_pair answer) {
  const std::scoped_lock held(lock_);
  answers_.insert_or_assign(in_lower_case(name), std::move(answer));
}

void challenge_table::drop(std::string_view name) noexcept {
  const std::scoped_lock held(lock_);
  if (const auto at = answers_.find(name); at != answers_.end()) answers_.erase(at);
}

std::optional<pem_pair> challenge_table::find(std::string_view name) const {
  const std::scoped_lock held(lock_);
  const auto at = answers_.find(in_lower_case(name));
  if (at == answers_.end()) return std::nullopt;
  return at->second;
}

bool challenge_table::empty() const noexcept {
  const std::scoped_lock held(lock_);
  return answers_.empty();
}

}  // namespace heddle::tls
