// SPDX-License-Identifier: MIT
// The state of a server_context: its sites, which a reload replaces as a whole, and the keys of
// tickets, which outlive a reload. A handshake keeps the sites that it began with.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "heddle/tls/challenge.hh"
#include "heddle/tls/options.hh"
#include "tls/handles.hh"
#include "tls/pem_files.hh"
#include "tls/ticket_keys.hh"

namespace heddle::tls::detail {

/// The certificates of one load. The table does not change, so any worker may use it.
class site_table {
 public:
  site_table(const server_options& o, const std::vector<pem_pair>& more, ticket_keys& tickets);
  site_table(const site_table&) = delete;

  /// The context for clients that name no server, or an unknown one.
  [[nodiscard]] SSL_CTX* first() const noexcept { return sites_.front().ctx.get(); }
  /// The context for a server's name, in upper or lower case; null if the name is unknown.
  [[nodiscard]] SSL_CTX* find(std::string_view name) const;

 private:
  struct site {
    ctx_handle ctx;
    std::vector<std::string> names;
    std::string ocsp;
  };
  void add(const server_options& o, loaded_certificate c, const certificate_files& files);
  void prepare(const server_options& o, site& s);
  [[nodiscard]] ctx_handle challenge_ctx(const pem_pair& answer);

  static site_table& of(const SSL* ssl) noexcept;
  static int look_at_hello(SSL* ssl, int* alert, void* table);
  static int pick_site(SSL* ssl, int* alert, void* table);
  static int pick_protocol(SSL* ssl, const unsigned char** out, unsigned char* size,
                           const unsigned char* offered, unsigned offered_size, void* table);
  static int staple(SSL* ssl, void* site);
  static int seal_ticket(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
                         EVP_MAC_CTX* mac, int seal);

  std::vector<site> sites_;
  std::map<std::string, SSL_CTX*, std::less<>> by_name_;
  std::string alpn_;  // protocols in the format of the wire
  std::shared_ptr<challenge_table> challenges_;
  bool vacant_ = false;  // there is no certificate yet
  ticket_keys& tickets_;
};

/// The state that all copies of a server_context share. Thread: any.
class server_state {
 public:
  explicit server_state(server_options o);
  void reload();
  void use(std::vector<pem_pair> more);

  [[nodiscard]] const server_options& options() const noexcept { return options_; }
  [[nodiscard]] std::shared_ptr<const site_table> sites() const;
  /// A session in memory that connections share: one of the last 8 if it is equal, else a new one.
  [[nodiscard]] std::shared_ptr<const session> shared(session&& s);
  /// The color for the next handshake. server_options::handshake_colors must not be empty.
  [[nodiscard]] color next_color() noexcept;

 private:
  const server_options options_;
  ticket_keys tickets_;
  std::mutex changing_;         // held by one reload(), or use(), at a time
  std::vector<pem_pair> more_;  // changing_ guards it
  mutable std::mutex lock_;
  std::shared_ptr<const site_table> sites_;  // lock_ guards it
  std::atomic<std::size_t> turn_{0};
  std::array<std::shared_ptr<const session>, 8> last_sessions_;  // lock_ guards them
  std::size_t next_session_ = 0;
};

}  // namespace heddle::tls::detail
