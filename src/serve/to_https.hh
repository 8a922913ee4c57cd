// SPDX-License-Identifier: MIT
// --redirect-http PORT: a second listener for visitors who come by http; each request is answered
// with the https address of the same page.
#pragma once

#include <cstdint>

#include "heddle/core/task.hh"
#include "heddle/io/tcp.hh"
#include "serve/certificates.hh"
#include "serve/options.hh"

namespace heddle::serve {

/// The listener; one that is not open without the setting. Throws failure.
[[nodiscard]] task<tcp_listener> open_http_door(const serve_options& o);

/// Answers until it is cancelled. `https_port` is where the site is. A request without a Host gets
/// 400: there is no address to send it to. Authorities that check a name are answered here.
[[nodiscard]] task<> send_to_https(tcp_listener door, const serve_options& o,
                                   std::uint16_t https_port, const certificates& certs);

}  // namespace heddle::serve
