// SPDX-License-Identifier: MIT
// Hashes of passwords in the form of crypt(5), "$y$j9T$...", by the system's libcrypt. Where that
// is missing, nothing can be hashed, and nothing matches.
#pragma once

#include <string>
#include <string_view>

namespace heddle::serve {

[[nodiscard]] bool can_hash_passwords() noexcept;
/// Whether a text looks like a hash: a dollar, a method of letters and digits, a dollar, and more.
[[nodiscard]] bool is_password_hash(std::string_view text) noexcept;
/// Whether libcrypt knows the method of a hash: it does not know Apache's $apr1$.
[[nodiscard]] bool knows_password_hash(const std::string& hash) noexcept;
/// Whether the password has this hash. Takes as long as the hash asks for, some 10 to 500 ms.
/// Thread: any.
[[nodiscard]] bool password_matches(const std::string& password, const std::string& hash);
/// Hashes by the system's best method (yescrypt in Debian 12). Throws failure.
[[nodiscard]] std::string hash_password(const std::string& password);

}  // namespace heddle::serve
