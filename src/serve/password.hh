// SPDX-License-Identifier: MIT
// --auth: Basic authentication (RFC 7617) for all handlers that run after this one. The settings
// have the password, or its hash as crypt(5) writes it, which `heddle password NAME` makes.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "heddle/sync/mutex.hh"
#include "serve/topics.hh"

namespace heddle::serve {

/// The expected credentials; checks under way keep them when the settings change.
struct password_wanted {
  std::string user;
  std::string hash;   ///< "$y$..."; empty: the settings have the password itself
  std::string known;  ///< the text after "Basic " that is right; empty until a hash was matched
  /// Hashes are slow on purpose. One check at a time, so that guesses cost this server one thread.
  mutex checking;
  std::size_t waiting = 0;
};

/// Thread: the shard's color. Owns: its binding and the expected credentials.
class password {
 public:
  /// `user_and_password` is USER:PASSWORD or USER:HASH. Throws failure if this program cannot check
  /// hashes.
  password(bus& b, std::string_view user_and_password);
  password(const password&) = delete;
  password& operator=(const password&) = delete;
  ~password() { bus_.unbind_all(this); }

  flow on_asked(question& q);

 private:
  static task<http::response> check(std::shared_ptr<password_wanted> wanted, bus& b,
                                    http::request& r, std::string credentials);

  bus& bus_;
  std::shared_ptr<password_wanted> wanted_;
};

}  // namespace heddle::serve
