// SPDX-License-Identifier: MIT
// Calls libcrypt, whose state for one call is 32 KiB.
#include "serve/password_hash.hh"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <stdexcept>
#include <system_error>

#ifdef HEDDLE_WITH_CRYPT
#include <crypt.h>
#endif

namespace heddle::serve {

bool is_password_hash(std::string_view text) noexcept {
  if (!text.starts_with('$')) return false;
  const std::size_t end = text.find('$', 1);
  return end != text.npos && end != 1 && end + 1 < text.size() &&
         std::ranges::all_of(text.substr(1, end - 1), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

#ifdef HEDDLE_WITH_CRYPT

bool can_hash_passwords() noexcept { return true; }

bool knows_password_hash(const std::string& hash) noexcept {
  return ::crypt_checksalt(hash.c_str()) != CRYPT_SALT_INVALID;
}

bool password_matches(const std::string& password, const std::string& hash) {
  if (password.find('\0') != std::string::npos) return false;
  const auto state = std::make_unique<crypt_data>();
  const char* const made = ::crypt_r(password.c_str(), hash.c_str(), state.get());
  if (made == nullptr || made[0] == '*') return false;
  const std::string_view got = made;
  unsigned differences = got.size() == hash.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(got.size(), hash.size()); ++i)
    differences |= static_cast<unsigned>(got[i] ^ hash[i]);
  return differences == 0;
}

std::string hash_password(const std::string& password) {
  if (password.find('\0') != std::string::npos)
    throw std::system_error(std::make_error_code(std::errc::invalid_argument),
                            "a password has no zero byte");
  char settings[CRYPT_GENSALT_OUTPUT_SIZE];
  const auto state = std::make_unique<crypt_data>();
  if (::crypt_gensalt_rn(nullptr, 0, nullptr, 0, settings, sizeof settings) == nullptr)
    throw std::system_error(errno, std::generic_category(), "libcrypt gives no salt");
  const char* const made = ::crypt_r(password.c_str(), settings, state.get());
  if (made == nullptr || made[0] == '*')
    throw std::system_error(errno, std::generic_category(), "libcrypt makes no hash of this text");
  return made;
}

#else

bool can_hash_passwords() noexcept { return false; }
bool knows_password_hash(const std::string&) noexcept { return false; }
bool password_matches(const std::string&, const std::string&) { return false; }
std::string hash_password(const std::string&) {
  throw std::system_error(std::make_error_code(std::errc::not_supported),
                          "this heddle was built without libcrypt");
}

#endif

}  // namespace heddle::serve
