// SPDX-License-Identifier: MIT
// Messages of DNS (RFC 1035 section 4.1): reads a question, writes its answer. No input and no
// table makes it read or write outside of the message.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/fakes/dns.hh"

namespace heddle::fakes::detail {

inline constexpr std::size_t dns_head_bytes = 12;
inline constexpr std::size_t dns_name_bytes_max = 255;   // RFC 1035 section 2.3.4
inline constexpr std::size_t dns_plain_udp_bytes = 512;  // RFC 1035 section 4.2.1
inline constexpr std::uint16_t dns_type_soa = 6, dns_type_opt = 41;
inline constexpr std::uint16_t dns_class_internet = 1;

/// The wire form of a name: labels with their lengths, and a zero. A dot at its end counts as none.
/// `\.` and `\DDD` are bytes of a label (RFC 1035 section 5.1). Empty if the text is no name.
[[nodiscard]] std::string dns_wire_name(std::string_view text);

/// The wire form of a name in small letters: the key of tables, equal for all texts of one name.
/// Empty if the text is no name.
[[nodiscard]] std::string dns_name_key(std::string_view text);

/// A message that was read.
struct dns_asked {
  enum class kind : std::uint8_t {
    question,
    ignored,          ///< too short for a header, or an answer itself
    malformed,        ///< gets FORMERR
    not_implemented,  ///< another operation than a standard query: gets NOTIMP
  };
  kind is = kind::ignored;
  std::uint16_t id = 0;
  std::uint16_t flags = 0;     ///< the second word of the header
  std::string question_bytes;  ///< the section as it came; empty unless it is a question
  std::string name;            ///< as text; "." for the root
  std::uint16_t type = 0;
  std::uint16_t group = 0;
  std::uint16_t edns_bytes = 0;  ///< 0: no EDNS
};

[[nodiscard]] dns_asked read_dns_question(std::string_view message);

/// A record of an answer; `data` is in wire form.
struct dns_record {
  std::string owner;  ///< in wire form
  std::uint16_t type = 0;
  std::uint32_t ttl_s = 0;
  std::string data;
};

/// An answer to be written.
struct dns_answer {
  dns_code code = dns_code::no_error;
  bool truncated = false;
  std::vector<dns_record> answers = {};
  std::vector<dns_record> authorities = {};
};

/// Writes the answer. Beyond `bytes_max` it becomes a truncated one without records.
[[nodiscard]] std::string write_dns_answer(const dns_asked& to, const dns_answer& answer,
                                           std::size_t bytes_max, std::uint16_t edns_bytes);

}  // namespace heddle::fakes::detail
