// SPDX-License-Identifier: MIT
// Keeps certificates: loads them from the store, orders the ones that are missing, and renews each
// in time. The names may change while it runs. After a failure it tries again, later each time, and
// the server goes on with the certificates that it has.
//
//   acme::keeper certificates(issuer, store, {.log = print});
//   certificates.change({{"www.example.org"}});
//   side.spawn(certificates.run(
//       [&](std::vector<tls::pem_pair> now) { site.use(std::move(now)); }));
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "heddle/acme/authority.hh"
#include "heddle/acme/options.hh"
#include "heddle/acme/store.hh"
#include "heddle/core/detail/closure.hh"
#include "heddle/core/task.hh"

namespace heddle::acme {

namespace detail {
class keeper_core;
}

/// Gets all certificates that there are, each time one of them changes.
using certificate_user = std::function<void(std::vector<tls::pem_pair>)>;

/// A certificate is renewed in the window that the authority names (RFC 9773), or else when two
/// thirds of its life have passed. Of several processes with one store, one renews, and the others
/// load the result.
///
/// Thread: one color. Owns: the certificates; the authority must outlive it.
class keeper {
 public:
  keeper(authority& issuer, std::shared_ptr<certificate_store> store,
         keeper_options options = keeper_options());
  keeper(const keeper&) = delete;
  ~keeper();

  /// Sets the names of each certificate; the first of them is its name in the store. A certificate
  /// whose names changed is ordered again, and the old one is used until then. An order that failed
  /// is tried again at once, unless the authority asked to wait (Retry-After).
  /// Fails: invalid_argument for names that cannot be ordered, and then nothing is changed.
  void change(std::vector<std::vector<std::string>> certificates);

  /// Works until it is cancelled. Failures are reported to keeper_options::log.
  [[nodiscard]] task<> run(certificate_user use);
  template <heddle::detail::closure_ends_twice Use>
  [[nodiscard]] task<> run(Use&& use) {
    heddle::detail::check_closures<Use>();
    return run(certificate_user(use));
  }

 private:
  std::unique_ptr<detail::keeper_core> core_;
};

}  // namespace heddle::acme
