// SPDX-License-Identifier: MIT
// OpenSSL in a simulation: random numbers come from the world's seed,
// and sessions have times of the world, so that a run with TLS repeats byte by byte.
#pragma once

#include <openssl/ssl.h>

#include <string>

#include "heddle/tls/detail/random_numbers.hh"

namespace heddle::tls::detail {

/// The system's authorities of a simulated computer, as Debian has them; "" if it has none.
[[nodiscard]] std::string world_authorities();
/// Gives a session that was made just now the world's time, in a simulation.
void date_in_world(SSL_SESSION* s) noexcept;
/// Dates a session of the world so that OpenSSL, which asks the machine's clock, sees its age in
/// the world. False if the session is too old there. In a simulation; else true.
[[nodiscard]] bool date_for_openssl(SSL_SESSION* s) noexcept;
/// Has the tickets of a server's context carry the world's time.
void date_tickets_in_world(SSL_CTX* ctx) noexcept;

}  // namespace heddle::tls::detail
