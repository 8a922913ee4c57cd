// SPDX-License-Identifier: MIT
// Questions and answers as DNS messages (RFC 1035 section 4). c-ares writes the question and reads
// names with their compression; this file decides which records answer the question. Without c-ares
// no message is ever made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heddle/io/address.hh"

namespace heddle::names::detail {

enum class record_type : std::uint16_t { a = 1, aaaa = 28 };

struct question {
  std::string name;  ///< a full name in the form of plain_name()
  record_type type = record_type::a;
  std::uint16_t id = 0;
};

/// The bytes of a question; `udp_bytes` > 0 adds EDNS with this size. Throws std::bad_alloc.
[[nodiscard]] std::vector<std::byte> write_question(const question& q, std::uint32_t udp_bytes);

struct reply {
  enum class kind : std::uint8_t {
    mismatch,      ///< the message does not answer this question: wait for another
    addresses,     ///< `addresses` is not empty
    no_such_name,  ///< NXDOMAIN
    no_address,    ///< the name exists without an address of this type
    truncated,     ///< ask again over TCP
    no_edns,       ///< the server does not understand EDNS: ask again without
    failed,        ///< the server reports a failure: ask another
    damaged,       ///< the message breaks the rules: ask another server
  };
  kind is = kind::mismatch;
  std::vector<address> addresses;
  std::string name;       ///< the name behind all aliases
  std::uint32_t ttl = 0;  ///< seconds: the smallest of the chain of aliases and its addresses
  std::optional<std::uint32_t> negative_ttl;  ///< seconds; none without an SOA record (RFC 2308)
  std::string why;                            ///< reason of failed and damaged: end of a sentence
};

struct reply_limits {
  std::uint32_t addresses_max = 64;
  std::uint32_t aliases_max = 16;
  bool edns_sent = false;
};

/// Reads a server's message. Throws only std::bad_alloc: for bad bytes there are kinds of replies.
[[nodiscard]] reply read_reply(std::span<const std::byte> message, const question& q,
                               const reply_limits& limits);

}  // namespace heddle::names::detail
