// SPDX-License-Identifier: MIT
// --acme: certificates for the names of this server, ordered from a public authority and renewed
// while it runs. Without the setting it does nothing.
#pragma once

#include <memory>
#include <optional>

#include "heddle/core/task.hh"
#include "heddle/http/request.hh"
#include "heddle/http/response.hh"
#include "serve/options.hh"

namespace heddle::tls {
class challenge_table;
}

namespace heddle::serve {

class secure_door;

/// Thread: color 0; answer() any. Owns: the account and the certificates.
class certificates {
 public:
  /// Reads the settings and files. Fails: failure, naming the one that cannot be used.
  explicit certificates(const serve_options& o);
  ~certificates();

  /// The challenges for the door that the authority checks; null without --acme.
  [[nodiscard]] std::shared_ptr<tls::challenge_table> challenges() const;
  /// The answer to an authority that checks a name by plain HTTP; nothing for other requests.
  [[nodiscard]] std::optional<http::response> answer(const http::request_head& head) const;
  /// Orders, renews and gives certificates to the door until it is cancelled.
  [[nodiscard]] task<> run(secure_door& door);

  /// Throws failure if no certificate could be kept in the folder of the store.
  static void check_store(const serve_options& o);
  /// Throws bad_setting if these settings need another start.
  void check(const serve_options& next) const;
  /// Takes the names of these settings.
  void change(const serve_options& next);

 private:
  struct part;
  std::unique_ptr<part> part_;  // null without --acme
};

}  // namespace heddle::serve
