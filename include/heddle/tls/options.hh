// SPDX-License-Identifier: MIT
// Options of a TLS server or client: certificates, protocols, limits. Every default limit is safe
// on a public network.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "heddle/base/clock.hh"
#include "heddle/core/context.hh"
#include "heddle/io/address.hh"

namespace heddle::tls {

class challenge_table;

/// Versions of the protocol. Those before 1.2 are never spoken.
enum class version : std::uint8_t { tls12, tls13 };

/// Where a certificate is read from. All files are PEM, but for the OCSP answer, which is DER.
struct certificate_files {
  std::string chain;      ///< the certificate, then those between it and a root
  std::string key;        ///< the certificate's private key
  std::string ocsp = {};  ///< an OCSP answer to send along (stapling); empty: none
};

struct limits {
  nanoseconds handshake_timeout = std::chrono::seconds(10);
  std::size_t handshake_bytes_max = 64 * 1024;  ///< bytes that the peer sends in a handshake
  /// Key updates, and other messages of a handshake after its end, that the peer sends in one
  /// minute; with more the connection fails.
  std::uint32_t key_updates_max = 32;
  /// With own_records: empty records that the peer sends in a row; with more the connection fails.
  std::uint8_t empty_records_max = 32;
  /// With own_records: records that one key seals before a KeyUpdate changes it. The default is
  /// below the limit of RFC 8446, 5.5; at least 2.
  std::uint64_t records_per_key_max = std::uint64_t{1} << 24;
  nanoseconds close_timeout = std::chrono::seconds(5);  ///< time to send the end of a stream
};

/// The result of a handshake, or the reason of its failure.
struct session {
  std::string protocol = {};     ///< "TLSv1.3"; empty before the handshake has ended
  std::string cipher = {};       ///< "TLS_AES_256_GCM_SHA384"
  std::string group = {};        ///< the group of the key exchange: "x25519"
  std::string alpn = {};         ///< the application protocol, if one was agreed on: "http/1.1"
  std::string server_name = {};  ///< the name that the client asked for
  std::string peer = {};         ///< the subject of the peer's certificate, if it sent one
  std::string trouble = {};      ///< why the stream failed, and what to do about it
  bool resumed = false;          ///< an earlier session was resumed; no certificate was checked
  bool stapled = false;          ///< the server sent an OCSP answer along

  bool operator==(const session&) const = default;
};

/// One handshake that ended, for logs. It failed if session::trouble is not empty.
struct handshake_report {
  address peer = {};
  session agreed = {};
  nanoseconds took{};
};

/// Whether a server asks its clients for certificates.
enum class client_certificates : std::uint8_t { ignored, wanted, required };

struct server_options {
  /// The first certificate is for clients that name no server, or one without a certificate. Of
  /// several for the same names, with keys of different kinds, each client gets one that it can
  /// use.
  std::vector<certificate_files> certificates = {};
  std::vector<std::string> alpn = {};  ///< application protocols, the favorite first; empty: any
  version oldest = version::tls12;
  version newest = version::tls13;
  client_certificates clients = client_certificates::ignored;
  std::string client_authorities = {};  ///< PEM file of authorities that sign clients' certificates
  /// Answers to an authority that checks a name (heddle/tls/challenge.hh). With it the server may
  /// begin without certificates, until server_context::use(): handshakes fail meanwhile.
  std::shared_ptr<challenge_table> challenges = {};
  limits bounds = {};
  /// Handshakes of one listener at once, and of them at most a quarter from one address (of IPv6:
  /// one /64). Further ones wait.
  std::size_t handshakes_max = 1024;
  std::uint32_t tickets = 1;  ///< sent to resume the session; 0: sessions are not resumed
  /// After this span a new key seals tickets; the two keys before it still open their tickets.
  nanoseconds ticket_key_life = std::chrono::hours(8);
  /// After a handshake of TLS 1.3 OpenSSL's state is freed, and Heddle seals and opens the records
  /// itself, with OpenSSL's ciphers. An idle connection then holds some hundred bytes instead of
  /// 14 KB.
  bool own_records = false;
  /// Handshakes run in these colors, in turn, instead of the connection's own. Moving one costs
  /// more than an ECDSA signature: it pays for RSA keys, if other workers are idle.
  std::vector<color> handshake_colors = {};
  std::function<void(const handshake_report&)> log = {};  ///< called in the connection's color
};

struct client_options {
  std::string authorities =
      {};              ///< PEM file of authorities that may sign servers; empty: the system's
  bool verify = true;  ///< false: anyone may answer in the server's name; for tests
  certificate_files certificate = {.chain = {}, .key = {}};  ///< the client's own, if it has one
  std::vector<std::string> alpn = {};
  version oldest = version::tls12;
  version newest = version::tls13;
  limits bounds = {};
  std::size_t sessions_max = 256;  ///< sessions kept to resume, one for each server
  bool wants_ocsp = false;         ///< asks servers to send an OCSP answer along
  std::function<void(const handshake_report&)> log = {};
};

}  // namespace heddle::tls
