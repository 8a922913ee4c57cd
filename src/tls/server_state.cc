// SPDX-License-Identifier: MIT
// Loading sites, and OpenSSL's callbacks during a handshake, which choose the certificate, the
// application protocol, the OCSP answer and the key for a ticket.
#include "tls/server_state.hh"

#include <openssl/ssl.h>

#include <algorithm>
#include <cstring>

#include "heddle/base/error.hh"
#include "heddle/tls/context.hh"
#include "tls/pem_blocks.hh"
#include "tls/pem_files.hh"
#include "tls/ssl_engine.hh"
#include "tls/trouble.hh"
#include "tls/world.hh"

namespace heddle::tls::detail {
namespace {

constexpr unsigned char session_context[] = "heddle";

failure misuse(const char* what) {
  return {std::make_error_code(std::errc::invalid_argument), what};
}

int verify_mode(client_certificates asked) noexcept {
  switch (asked) {
    case client_certificates::ignored:
      return SSL_VERIFY_NONE;
    case client_certificates::wanted:
      return SSL_VERIFY_PEER;
    case client_certificates::required:
      break;
  }
  return SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
}

void check_clients(SSL_CTX* ctx, const server_options& o) {
  if (o.clients == client_certificates::ignored) return;
  if (o.client_authorities.empty())
    throw misuse("clients need certificates, and no authority signs them: set client_authorities");
  drop_errors();
  for (const x509_handle& each : authorities_in(o.client_authorities))
    if (SSL_CTX_add_client_CA(ctx, each.get()) != 1 ||
        X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), each.get()) != 1)
      throw_errors("cannot use the authorities of clients in '" + o.client_authorities + "'", "");
  SSL_CTX_set_verify(ctx, verify_mode(o.clients), nullptr);
}

}  // namespace

site_table::site_table(const server_options& o, const std::vector<pem_pair>& more,
                       ticket_keys& tickets)
    : alpn_(alpn_wire(o.alpn)), challenges_(o.challenges), tickets_(tickets) {
  vacant_ = o.certificates.empty() && more.empty();
  if (vacant_ && !challenges_)
    throw misuse("a TLS server needs a certificate: set server_options::certificates");
  sites_.reserve(o.certificates.size() + more.size() + 1);
  for (const certificate_files& files : o.certificates) add(o, load_certificate(files), files);
  const certificate_files from{.chain = "the certificate given", .key = "the key given"};
  for (const pem_pair& each : more) add(o, parse_certificate(each, from), from);
  if (vacant_) sites_.emplace_back(make_ctx(TLS_server_method(), o.oldest, o.newest));
  if (challenges_) SSL_CTX_set_client_hello_cb(first(), &look_at_hello, this);
  for (site& s : sites_) {
    prepare(o, s);
    for (const std::string& name : s.names) by_name_.try_emplace(name, s.ctx.get());
  }
}

void site_table::add(const server_options& o, loaded_certificate c,
                     const certificate_files& files) {
  // An RSA and an ECDSA certificate for the same names are one site.
  const auto same = std::ranges::find(sites_, c.names, &site::names);
  if (same != sites_.end()) {
    use_certificate(same->ctx.get(), c, files);
    if (same->ocsp.empty()) same->ocsp = std::move(c.ocsp);
    return;
  }
  site& made = sites_.emplace_back(make_ctx(TLS_server_method(), o.oldest, o.newest),
                                   std::move(c.names), std::move(c.ocsp));
  use_certificate(made.ctx.get(), c, files);
}

void site_table::prepare(const server_options& o, site& s) {
  SSL_CTX* const ctx = s.ctx.get();
  check_clients(ctx, o);
  SSL_CTX_set_app_data(ctx, this);
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_session_id_context(ctx, session_context, sizeof session_context - 1);
  SSL_CTX_set_num_tickets(ctx, o.tickets);
  if (o.tickets == 0) SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
  SSL_CTX_set_tlsext_ticket_key_evp_cb(ctx, &seal_ticket);
  date_tickets_in_world(ctx);
  SSL_CTX_set_tlsext_servername_callback(ctx, &pick_site);
  SSL_CTX_set_tlsext_servername_arg(ctx, this);
  if (o.own_records) SSL_CTX_set_keylog_callback(ctx, &ssl_engine::keep_secret);
  if (!alpn_.empty()) SSL_CTX_set_alpn_select_cb(ctx, &pick_protocol, this);
  if (!s.ocsp.empty()) {
    SSL_CTX_set_tlsext_status_cb(ctx, &staple);
    SSL_CTX_set_tlsext_status_arg(ctx, &s);
  }
}

SSL_CTX* site_table::find(std::string_view name) const {
  std::string text(name);
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (text.ends_with('.')) text.pop_back();
  auto at = by_name_.find(text);
  if (at == by_name_.end()) {
    // A wildcard matches exactly the first label.
    const std::size_t dot = text.find('.');
    if (dot == text.npos || dot == 0) return nullptr;
    at = by_name_.find("*" + text.substr(dot));
  }
  return at != by_name_.end() ? at->second : nullptr;
}

site_table& site_table::of(const SSL* ssl) noexcept {
  return *static_cast<site_table*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
}

int site_table::pick_site(SSL* ssl, int*, void* table) {
  const char* const name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  if (name == nullptr) return SSL_TLSEXT_ERR_NOACK;
  try {
    SSL_CTX* const found = static_cast<site_table*>(table)->find(name);
    if (found != nullptr && found != SSL_get_SSL_CTX(ssl) && SSL_set_SSL_CTX(ssl, found) == nullptr)
      return SSL_TLSEXT_ERR_ALERT_FATAL;
  } catch (const std::bad_alloc&) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  return SSL_TLSEXT_ERR_OK;
}

int site_table::pick_protocol(SSL*, const unsigned char** out, unsigned char* size,
                              const unsigned char* offered, unsigned offered_size, void* table) {
  const std::string& ours = static_cast<site_table*>(table)->alpn_;
  unsigned char* found = nullptr;
  const auto* list = reinterpret_cast<const unsigned char*>(ours.data());
  if (SSL_select_next_proto(&found, size, list, static_cast<unsigned>(ours.size()), offered,
                            offered_size) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = found;
  return SSL_TLSEXT_ERR_OK;
}

int site_table::staple(SSL* ssl, void* of_site) {
  const std::string& answer = static_cast<site*>(of_site)->ocsp;
  auto* const copy = static_cast<unsigned char*>(OPENSSL_memdup(answer.data(), answer.size()));
  if (copy == nullptr) return SSL_TLSEXT_ERR_NOACK;           // an OCSP answer is optional
  SSL_set_tlsext_status_ocsp_resp(ssl, copy, answer.size());  // OpenSSL frees the copy
  return SSL_TLSEXT_ERR_OK;
}

int site_table::seal_ticket(SSL* ssl, unsigned char* name, unsigned char* iv,
                            EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac, int seal) {
  const int answer = of(ssl).tickets_.prepare(name, iv, cipher, mac, seal != 0);
  // A TLS 1.3 client uses a ticket once, so 2 makes OpenSSL send it another one.
  return answer == 1 && seal == 0 && SSL_version(ssl) >= TLS1_3_VERSION ? 2 : answer;
}

server_state::server_state(server_options o)
    : options_(std::move(o)),
      tickets_(options_.ticket_key_life),
      sites_(std::make_shared<const site_table>(options_, more_, tickets_)) {}

void server_state::reload() {
  const std::scoped_lock alone(changing_);
  auto next = std::make_shared<const site_table>(options_, more_, tickets_);
  const std::scoped_lock held(lock_);
  sites_.swap(next);
}

void server_state::use(std::vector<pem_pair> more) {
  const std::scoped_lock alone(changing_);
  auto next = std::make_shared<const site_table>(options_, more, tickets_);
  more_ = std::move(more);
  const std::scoped_lock held(lock_);
  sites_.swap(next);
}

std::shared_ptr<const site_table> server_state::sites() const {
  const std::scoped_lock held(lock_);
  return sites_;
}

std::shared_ptr<const session> server_state::shared(session&& s) {
  const std::scoped_lock held(lock_);
  for (const auto& known : last_sessions_)
    if (known && *known == s) return known;
  auto made = std::make_shared<const session>(std::move(s));
  last_sessions_.at(next_session_) = made;
  next_session_ = (next_session_ + 1) % last_sessions_.size();
  return made;
}

color server_state::next_color() noexcept {
  return options_.handshake_colors[turn_.fetch_add(1, std::memory_order_relaxed) %
                                   options_.handshake_colors.size()];
}

}  // namespace heddle::tls::detail

namespace heddle::tls {

server_context::server_context(server_options options)
    : state_(std::make_shared<detail::server_state>(std::move(options))) {}
void server_context::reload() { state_->reload(); }
void server_context::use(std::vector<pem_pair> more) { state_->use(std::move(more)); }
const server_options& server_context::options() const noexcept { return state_->options(); }

}  // namespace heddle::tls
