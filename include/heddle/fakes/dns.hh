// SPDX-License-Identifier: MIT
// A name server for tests: a table of names that a test fills and changes, and the faults that
// resolvers must survive. It speaks DNS over UDP and TCP (RFC 1035 sections 4.1 and 4.2), on each
// driver and as a node of a simulated cluster.
//
//   fakes::dns_server names;
//   names.add_address("shop.example", address::loopback(0));
//   const udp_socket udp = udp_socket::bind(address::any_v4(53));
//   const tcp_listener tcp = tcp_listener::listen(address::any_v4(53));
//   side.spawn(names.serve(udp, tcp));
//   names.set_faults("shop.example", {.code = fakes::dns_code::server_failure, .times = 2});
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/clock.hh"
#include "heddle/core/task.hh"
#include "heddle/io/address.hh"
#include "heddle/io/tcp.hh"
#include "heddle/io/udp.hh"

namespace heddle::fakes {

/// Response codes (RFC 1035 section 4.1.1).
enum class dns_code : std::uint8_t {
  no_error = 0,
  format_error = 1,
  server_failure = 2,  ///< SERVFAIL
  no_such_name = 3,    ///< NXDOMAIN
  not_implemented = 4,
  refused = 5,
};

/// Numbers of record types (RFC 1035 section 3.2.2, RFC 3596 section 2.1).
inline constexpr std::uint16_t dns_type_a = 1;
inline constexpr std::uint16_t dns_type_cname = 5;
inline constexpr std::uint16_t dns_type_aaaa = 28;

/// A question as it came.
struct dns_question {
  std::string name;              ///< as it was asked, without a dot at its end; "." for the root
  std::uint16_t type = 0;        ///< dns_type_a and the like
  std::uint16_t group = 1;       ///< the class; 1 is the Internet
  bool over_tcp = false;         ///< false: over UDP
  std::uint16_t edns_bytes = 0;  ///< the largest datagram that the client takes; 0: no EDNS
  address from;                  ///< the client
  time_point at;                 ///< when it came
};

/// How answers depart from the table. Defaults are the ordinary answer.
struct dns_faults {
  dns_code code = dns_code::no_error;  ///< another code, up to 15: no records are sent
  nanoseconds delay{0};                ///< the time before the answer
  bool silent = false;                 ///< no answer at all
  bool truncated = false;       ///< over UDP an answer without records that asks to come by TCP
  std::uint16_t wrong_ids = 0;  ///< answers with another id, sent before the right one
  std::uint32_t times = 0;      ///< the faults end after so many questions; 0: they stay
};

/// Every limit. Bytes count a whole message without the length before it on TCP.
struct dns_options {
  std::chrono::seconds ttl{60};                 ///< time to live of records that name no other
  std::uint16_t udp_bytes_max = 1232;           ///< bytes of an answer to a client with EDNS
  std::uint32_t records_max = 65536;            ///< in the table
  std::uint32_t questions_kept_max = 4096;      ///< the oldest go first
  std::uint32_t waiting_max = 1024;             ///< UDP answers that wait for their delay
  std::uint32_t connections_max = 64;           ///< TCP; more are reset at once
  nanoseconds idle = std::chrono::seconds(30);  ///< a TCP connection without question
};

/// The answer to a name follows aliases in the table, up to 16. A name with records, but none of
/// the type, gets an empty answer; a name without any gets NXDOMAIN. Both carry a SOA record whose
/// minimum is dns_options::ttl, so that resolvers may cache them (RFC 2308). Names are compared
/// without regard to case and escapes: "a b" is "a\032b" (RFC 1035 section 5.1). Types other than
/// A, AAAA and CNAME have no records.
///
/// An answer of more than 512 bytes, or than the client takes with EDNS (RFC 6891), is truncated
/// over UDP. A message that is no question gets FORMERR; messages shorter than a header and
/// answers get nothing. On one TCP connection answers come in the order of the questions.
///
/// Thread: one color, that of serve(); the table may change while it runs.
/// Owns: the table and the questions. It, the socket and the listener outlive serve().
/// Cancel: serve() ends, with its connections and the answers that wait.
/// Fails: the functions that change the table or the faults throw failure: invalid_argument for a
///   text that is no name (RFC 1035 section 2.3.4), a code beyond 15 and a negative delay,
///   no_buffer_space beyond records_max.
class dns_server {
 public:
  explicit dns_server(dns_options options = dns_options());
  dns_server(const dns_server&) = delete;
  dns_server& operator=(const dns_server&) = delete;
  ~dns_server();

  /// Adds an A or an AAAA record, as the address's version says; its port is ignored.
  void add_address(std::string_view name, const address& a);
  void add_address(std::string_view name, const address& a, std::chrono::seconds ttl);
  /// Makes the name an alias (CNAME), instead of the alias that it may be.
  void add_alias(std::string_view name, std::string_view target);
  void add_alias(std::string_view name, std::string_view target, std::chrono::seconds ttl);
  /// Removes all records of a name.
  void remove(std::string_view name);

  /// Sets the faults of a name, instead of earlier ones; "" for the names that have none of their
  /// own.
  void set_faults(std::string_view name, dns_faults faults);
  /// Ends all faults.
  void clear_faults() noexcept;

  /// Answers over UDP and TCP until it is cancelled, or both have finished.
  [[nodiscard]] task<> serve(const udp_socket& udp, const tcp_listener& tcp);
  /// Answers until it is cancelled, or the socket or listener is closed.
  [[nodiscard]] task<> serve_udp(const udp_socket& udp);
  [[nodiscard]] task<> serve_tcp(const tcp_listener& tcp);

  /// The last questions, oldest first.
  [[nodiscard]] const std::deque<dns_question>& questions() const noexcept;
  /// How many questions came in all.
  [[nodiscard]] std::uint64_t asked() const noexcept;
  /// How many of the questions that are kept ask for this name.
  [[nodiscard]] std::size_t asked(std::string_view name) const;
  /// Messages that were no question, answers that found waiting_max reached, and connections beyond
  /// connections_max.
  [[nodiscard]] std::uint64_t dropped() const noexcept;

 private:
  struct core;
  std::unique_ptr<core> core_;
};

}  // namespace heddle::fakes
