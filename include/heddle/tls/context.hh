// SPDX-License-Identifier: MIT
// Contexts: certificates, roots, keys of tickets and sessions to resume, which the connections of a
// server or a client share. A program makes one and hands it around; copies share it.
//
//   tls::server_context site({.certificates = {{"site.pem", "site.key"}}});
//   site.reload();                      // later: the files have new content
#pragma once

#include <memory>
#include <vector>

#include "heddle/tls/authority.hh"
#include "heddle/tls/options.hh"

namespace heddle::tls {

namespace detail {
class server_state;
class client_state;
}  // namespace detail

/// Thread: any; copies may be used on several workers at once.
/// Owns: certificates and keys, together with its copies and the streams made with it.
/// Fails: throws failure that names the file and says what to do; std::bad_alloc.
class server_context {
 public:
  /// Reads the files.
  explicit server_context(server_options options);

  /// Reads the files again. Connections that are open stay as they are; new handshakes use the new
  /// certificates, and sessions can still be resumed. If it throws, the old ones stay in use.
  void reload();
  /// Uses these certificates beside those of the options, which come first. They replace the
  /// certificates of an earlier call. `certificate` may hold a chain: the certificate, then those
  /// between it and a root. Else as reload().
  void use(std::vector<pem_pair> more);
  [[nodiscard]] const server_options& options() const noexcept;
  [[nodiscard]] const std::shared_ptr<detail::server_state>& state() const noexcept {
    return state_;
  }

 private:
  std::shared_ptr<detail::server_state> state_;
};

/// The client's context. Thread, Owns and Fails: as server_context.
class client_context {
 public:
  /// Reads the authorities' certificates, which takes some milliseconds: make one for many
  /// connections.
  explicit client_context(client_options options = client_options());

  [[nodiscard]] const client_options& options() const noexcept;
  [[nodiscard]] const std::shared_ptr<detail::client_state>& state() const noexcept {
    return state_;
  }

 private:
  std::shared_ptr<detail::client_state> state_;
};

}  // namespace heddle::tls
