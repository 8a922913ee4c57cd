// SPDX-License-Identifier: MIT
// Opening connections to servers that are checked, and keeping their sessions.
#include "tls/client_state.hh"

#include <arpa/inet.h>

#include <algorithm>

#include "heddle/base/error.hh"
#include "heddle/sched/detail/world_here.hh"
#include "heddle/tls/context.hh"
#include "tls/pem_blocks.hh"
#include "tls/pem_files.hh"
#include "tls/trouble.hh"
#include "tls/world.hh"

namespace heddle::tls::detail {
namespace {

bool is_address(const std::string& host) noexcept {
  unsigned char bytes[16];
  return ::inet_pton(AF_INET, host.c_str(), bytes) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

}  // namespace

client_state::client_state(client_options o) : options_(std::move(o)) {
  ctx_ = make_ctx(TLS_client_method(), options_.oldest, options_.newest);
  SSL_CTX* const ctx = ctx_.get();
  std::string authorities = options_.authorities;
  const bool simulated = heddle::detail::simulated_here();
  // A computer of a simulation has its own, as a file on its disk.
  if (authorities.empty() && options_.verify && simulated) authorities = world_authorities();
  if (!authorities.empty()) {
    for (const x509_handle& each : authorities_in(authorities))
      if (X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), each.get()) != 1)
        throw_errors("cannot use the authorities in '" + authorities + "'", "");
  } else if (options_.verify && !simulated && SSL_CTX_set_default_verify_paths(ctx) != 1) {
    throw_errors("cannot read the system's roots", "install ca-certificates");
  }
  SSL_CTX_set_verify(ctx, options_.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  if (!options_.certificate.chain.empty())
    use_certificate(ctx, load_certificate(options_.certificate), options_.certificate);
  const std::string alpn = alpn_wire(options_.alpn);
  const auto* list = reinterpret_cast<const unsigned char*>(alpn.data());
  if (!alpn.empty() && SSL_CTX_set_alpn_protos(ctx, list, static_cast<unsigned>(alpn.size())) != 0)
    throw_errors("the list of protocols cannot be used", "");
  SSL_CTX_set_app_data(ctx, this);
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
  SSL_CTX_sess_set_new_cb(ctx, &keep_session);
}

ssl_handle client_state::open(const std::string& host) {
  drop_errors();
  use_random_numbers_of_world();
  ssl_handle ssl(SSL_new(ctx_.get()));
  if (!ssl) throw_errors("a TLS connection to '" + host + "' cannot begin", "");
  const bool by_address = is_address(host);
  // A server's name is sent without the dot at the end of a full name (RFC 6066 section 3).
  const std::string name = host.ends_with('.') ? host.substr(0, host.size() - 1) : host;
  X509_VERIFY_PARAM* const param = SSL_get0_param(ssl.get());
  X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const bool told = by_address
                        ? X509_VERIFY_PARAM_set1_ip_asc(param, host.c_str()) == 1
                        : X509_VERIFY_PARAM_set1_host(param, name.c_str(), name.size()) == 1 &&
                              SSL_set_tlsext_host_name(ssl.get(), name.c_str()) == 1;
  if (name.empty() || !told)
    throw_errors("'" + host + "' is no name of a server", "give the name in its certificate");
  if (options_.wants_ocsp) SSL_set_tlsext_status_type(ssl.get(), TLSEXT_STATUSTYPE_ocsp);
  SSL_set_app_data(ssl.get(), const_cast<std::string*>(&host));
  if (const session_handle s = take(host)) SSL_set_session(ssl.get(), s.get());
  drop_errors();
  return ssl;
}

int client_state::keep_session(SSL* ssl, SSL_SESSION* s) {
  auto& self = *static_cast<client_state*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
  const auto* host = static_cast<const std::string*>(SSL_get_app_data(ssl));
  if (SSL_SESSION_is_resumable(s) != 1 || self.options_.sessions_max == 0) return 0;
  session_handle kept(s);  // the session is ours from here on, so the answer is 1
  date_in_world(s);
  try {
    self.keep(*host, std::move(kept));
  } catch (const std::bad_alloc&) {
    // Without the session the next connection makes a full handshake.
  }
  return 1;
}

void client_state::keep(const std::string& host, session_handle s) {
  const std::scoped_lock held(lock_);
  if (!sessions_.contains(host)) order_.push_back(host);
  sessions_[host] = std::move(s);
  if (order_.size() <= options_.sessions_max) return;
  sessions_.erase(order_.front());
  order_.pop_front();
}

/// A ticket of TLS 1.3 is used once, so that an observer cannot link two connections of one
/// client.
session_handle client_state::take(const std::string& host) {
  const std::scoped_lock held(lock_);
  const auto at = sessions_.find(host);
  if (at == sessions_.end()) return {};
  if (SSL_SESSION_get_protocol_version(at->second.get()) < TLS1_3_VERSION) {
    SSL_SESSION_up_ref(at->second.get());
    return session_handle(at->second.get());
  }
  session_handle s = std::move(at->second);
  sessions_.erase(at);
  std::erase(order_, host);
  return date_for_openssl(s.get()) ? std::move(s) : session_handle();
}

}  // namespace heddle::tls::detail

namespace heddle::tls {

client_context::client_context(client_options options)
    : state_(std::make_shared<detail::client_state>(std::move(options))) {}
const client_options& client_context::options() const noexcept { return state_->options(); }

}  // namespace heddle::tls
