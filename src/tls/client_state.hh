// SPDX-License-Identifier: MIT
// The state of a client_context: roots, the client's own certificate, and sessions to resume.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "heddle/tls/options.hh"
#include "tls/handles.hh"

namespace heddle::tls::detail {

/// The state that all copies of a client_context share. Thread: any.
class client_state {
 public:
  explicit client_state(client_options o);
  client_state(const client_state&) = delete;

  [[nodiscard]] const client_options& options() const noexcept { return options_; }
  /// An SSL object for a connection to this host, before its handshake. `host` must outlive it.
  [[nodiscard]] ssl_handle open(const std::string& host);

 private:
  static int keep_session(SSL* ssl, SSL_SESSION* s);
  void keep(const std::string& host, session_handle s);
  [[nodiscard]] session_handle take(const std::string& host);

  const client_options options_;
  ctx_handle ctx_;
  std::mutex lock_;
  std::map<std::string, session_handle, std::less<>> sessions_;  // lock_ guards them
  std::deque<std::string> order_;                                // the oldest first
};

}  // namespace heddle::tls::detail
