// SPDX-License-Identifier: MIT
// A RAND_METHOD, which OpenSSL 3 asks before its own generators (RAND_set_rand_method(3)), and the
// times of sessions (SSL_SESSION_set_time(3)), which go into tickets.
#include "tls/world.hh"

#include <fcntl.h>
#include <openssl/rand.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <mutex>

#include "heddle/io/detail/files_here.hh"
#include "heddle/sched/detail/world_here.hh"

// OpenSSL 3 still asks a method first, and calls it deprecated in favor of providers, which cannot
// be chosen for a thread.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace heddle::tls::detail {
namespace {

driver* simulated_driver() noexcept {
  return heddle::detail::simulated_here() ? worker::current()->io : nullptr;
}

/// Fills with numbers of the world, or of OpenSSL.
int fill(unsigned char* out, int count) {
  driver* const world = simulated_driver();
  if (world == nullptr) return RAND_OpenSSL()->bytes(out, count);
  for (int at = 0; at < count; at += 8) {
    const std::uint64_t drawn = world->random();
    std::memcpy(out + at, &drawn, static_cast<std::size_t>(std::min(count - at, 8)));
  }
  return 1;
}

int is_ready() { return 1; }

long seconds_of(driver& world) noexcept {
  return static_cast<long>(world.wall_time() / nanoseconds(1'000'000'000));
}

int date_ticket(SSL* ssl, void*) {
  date_in_world(SSL_get_session(ssl));
  return 1;
}

/// Answers as OpenSSL does without a callback, but for tickets that are too old in the world.
SSL_TICKET_RETURN check_ticket(SSL*, SSL_SESSION* s, const unsigned char*, std::size_t,
                               SSL_TICKET_STATUS status, void*) {
  switch (status) {
    case SSL_TICKET_EMPTY:
    case SSL_TICKET_NO_DECRYPT:
      return SSL_TICKET_RETURN_IGNORE_RENEW;
    case SSL_TICKET_SUCCESS:
      return date_for_openssl(s) ? SSL_TICKET_RETURN_USE : SSL_TICKET_RETURN_IGNORE_RENEW;
    case SSL_TICKET_SUCCESS_RENEW:
      return date_for_openssl(s) ? SSL_TICKET_RETURN_USE_RENEW : SSL_TICKET_RETURN_IGNORE_RENEW;
    default:
      return SSL_TICKET_RETURN_ABORT;
  }
}

constexpr RAND_METHOD of_world{nullptr, &fill, nullptr, nullptr, &fill, &is_ready};

}  // namespace

void use_random_numbers_of_world() noexcept {
  static std::once_flag once;
  if (simulated_driver() == nullptr) return;
  std::call_once(once, [] { RAND_set_rand_method(&of_world); });
}

std::string world_authorities() {
  static constexpr const char* path = "/etc/ssl/certs/ca-certificates.crt";
  return heddle::detail::files_here().access(AT_FDCWD, path, R_OK) == 0 ? path : "";
}

void date_in_world(SSL_SESSION* s) noexcept {
  driver* const world = simulated_driver();
  if (world != nullptr) SSL_SESSION_set_time(s, seconds_of(*world));
}

bool date_for_openssl(SSL_SESSION* s) noexcept {
  driver* const world = simulated_driver();
  if (world == nullptr) return true;
  const long age = seconds_of(*world) - SSL_SESSION_get_time(s);
  if (age < 0 || age > SSL_SESSION_get_timeout(s)) return false;
  SSL_SESSION_set_time(s, static_cast<long>(std::time(nullptr)) - age);
  return true;
}

void date_tickets_in_world(SSL_CTX* ctx) noexcept {
  if (simulated_driver() != nullptr)
    SSL_CTX_set_session_ticket_cb(ctx, &date_ticket, &check_ticket, nullptr);
}

}  // namespace heddle::tls::detail

#pragma GCC diagnostic pop
