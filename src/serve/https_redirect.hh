// SPDX-License-Identifier: MIT
// --redirect-http PORT: a second listener for visitors who come by http; each request is answered
// with the https address of the same page.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/core/task.hh"
#include "heddle/io/tcp.hh"
#include "heddle/web/server.hh"
#include "serve/certificates.hh"
#include "serve/options.hh"

namespace heddle::serve {

/// Opens the listener, or takes the one that another server gave, if it listens at this place. A
/// socket that is used leaves `given`. Without the setting the listener is not open. Throws
/// failure.
[[nodiscard]] task<tcp_listener> open_http_door(const serve_options& o, std::vector<int>& given);

/// Thread: one color. Owns: the server; `certs` must outlive it.
class https_redirect {
 public:
  /// Redirects to `https_port`, where the site is.
  https_redirect(const serve_options& o, std::uint16_t https_port, const certificates& certs);

  /// Answers until drain() was called and has finished, or stop(). A request without a Host gets
  /// 400: there is no address to send it to. Authorities that check a name are answered here.
  [[nodiscard]] task<> serve(tcp_listener door);
  /// As shard::drain(); returns once no more is accepted and `grace` has passed.
  [[nodiscard]] task<> drain(nanoseconds grace);
  void stop() noexcept { web_.stop(); }

 private:
  http::server web_;
  listener door_;  // the server has a duplicate; closed when no more is accepted
};

}  // namespace heddle::serve
