// SPDX-License-Identifier: MIT
// The one file of `heddle serve` that knows whether there is TLS.
#include "serve/tls.hh"

#include "heddle/tls/authority.hh"
#include "serve/values.hh"

#if HEDDLE_WITH_TLS
#include "heddle/tls/stream.hh"
#endif

namespace heddle::serve {

#if HEDDLE_WITH_TLS

struct secure_door::site {
  tls::server_context context;
  std::vector<std::pair<std::string, std::string>> files;
};

secure_door::secure_door(const serve_options& o, std::shared_ptr<tls::challenge_table> challenges) {
  if (!o.secure()) return;
  tls::server_options options;
  options.challenges = std::move(challenges);
  for (const auto& [chain, key] : o.tls) options.certificates.push_back({chain, key});
  options.alpn = {"h2", "http/1.1", "http/1.0"};
  options.own_records = o.tls_own_records;
  options.bounds.handshake_timeout = o.server.header_timeout;
  site_ = std::make_unique<site>(tls::server_context(std::move(options)), o.tls);
}

listener secure_door::over(listener door) const {
  if (!site_) return door;
  return tls::listen(std::move(door), site_->context);
}

void secure_door::reload(const serve_options& next) {
  if (next.tls != (site_ ? site_->files : decltype(next.tls){}))
    throw bad_setting("tls: which files are used is decided at the start; start the server again");
  if (site_) site_->context.reload();
}

void secure_door::use(std::vector<tls::pem_pair> ordered) {
  if (site_) site_->context.use(std::move(ordered));
}

#else

struct secure_door::site {};

secure_door::secure_door(const serve_options& o, std::shared_ptr<tls::challenge_table>) {
  if (!o.tls.empty())
    throw failure(std::make_error_code(std::errc::not_supported),
                  "--tls needs a heddle with TLS: install OpenSSL 3 and build it again");
}
listener secure_door::over(listener door) const { return door; }
void secure_door::reload(const serve_options&) {}
void secure_door::use(std::vector<tls::pem_pair>) {}

#endif

secure_door::~secure_door() = default;

}  // namespace heddle::serve
