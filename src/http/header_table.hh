// SPDX-License-Identifier: MIT
// Recognises a header name while it is parsed. A perfect hash of the name's length, first letter
// and last four letters gives one candidate, and one comparison confirms it. Every load stays
// inside the name and the four bytes before it.
#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <string_view>

#include "heddle/http/headers.hh"

namespace heddle::http::detail {

inline constexpr std::size_t known_name_bytes_max = 32;

struct known_name {
  std::array<char, known_name_bytes_max> text{};
  std::uint8_t length = 0;
};

inline constexpr std::string_view header_names[header_id_count] = {"",
                                                                   "host",
                                                                   "connection",
                                                                   "content-length",
                                                                   "transfer-encoding",
                                                                   "expect",
                                                                   "upgrade",
                                                                   "te",
                                                                   "trailer",
                                                                   "keep-alive",
                                                                   "date",
                                                                   "accept",
                                                                   "accept-encoding",
                                                                   "accept-language",
                                                                   "accept-charset",
                                                                   "if-match",
                                                                   "if-none-match",
                                                                   "if-modified-since",
                                                                   "if-unmodified-since",
                                                                   "if-range",
                                                                   "range",
                                                                   "authorization",
                                                                   "proxy-authorization",
                                                                   "proxy-connection",
                                                                   "cookie",
                                                                   "user-agent",
                                                                   "referer",
                                                                   "origin",
                                                                   "cache-control",
                                                                   "pragma",
                                                                   "content-type",
                                                                   "content-encoding",
                                                                   "content-language",
                                                                   "content-location",
                                                                   "content-disposition",
                                                                   "forwarded",
                                                                   "via",
                                                                   "x-forwarded-for",
                                                                   "x-forwarded-proto",
                                                                   "x-forwarded-host",
                                                                   "x-real-ip",
                                                                   "x-request-id",
                                                                   "x-requested-with",
                                                                   "access-control-request-method",
                                                                   "access-control-request-headers",
                                                                   "sec-fetch-site",
                                                                   "sec-fetch-mode",
                                                                   "sec-fetch-dest",
                                                                   "sec-fetch-user",
                                                                   "sec-ch-ua",
                                                                   "sec-ch-ua-mobile",
                                                                   "sec-ch-ua-platform",
                                                                   "upgrade-insecure-requests",
                                                                   "dnt",
                                                                   "priority",
                                                                   "sec-websocket-key",
                                                                   "sec-websocket-version",
                                                                   "sec-websocket-protocol",
                                                                   "sec-websocket-extensions",
                                                                   "traceparent",
                                                                   "tracestate",
                                                                   "http2-settings",
                                                                   "last-event-id",
                                                                   "from"};

static_assert(header_names[static_cast<std::size_t>(header_id::from)] == "from",
              "the enumeration and the table of names are in one order");

inline constexpr std::uint32_t hash_bits = 9;

// `tail` holds the name's last four bytes in lower case, the last one in the highest byte. The
// multipliers were found by search; the assertion below checks that they still fit the table.
constexpr std::uint32_t name_hash(std::uint32_t tail, char first, std::size_t length) {
  auto head = static_cast<std::uint32_t>(static_cast<unsigned char>(first | 0x20)) << 8;
  return ((tail + (head + static_cast<std::uint32_t>(length)) * 0x6cad4a27u) * 0x0f21ddb7u) >>
         (32 - hash_bits);
}

// The four bytes before a name's end. For a name of two or three letters they include the bytes
// before the name, which are always the end of a line.
constexpr std::uint32_t known_tail(std::string_view name) {
  std::uint32_t tail = 0;
  for (std::size_t back = 0; back < 4; ++back) {
    char before = back == name.size() ? '\n' : '\r';
    char c = back < name.size() ? name[name.size() - 1 - back] : before;
    tail |= static_cast<std::uint32_t>(static_cast<unsigned char>(c | 0x20)) << (24 - 8 * back);
  }
  return tail;
}

struct name_index {
  std::array<std::uint8_t, 1u << hash_bits> places{};
  bool collides = false;
};

inline constexpr name_index known_places = [] {
  name_index index;
  for (std::size_t id = 1; id < header_id_count; ++id) {
    std::string_view name = header_names[id];
    std::uint8_t& place = index.places[name_hash(known_tail(name), name[0], name.size())];
    if (place != 0 || name.size() > known_name_bytes_max) index.collides = true;
    place = static_cast<std::uint8_t>(id);
  }
  return index;
}();

static_assert(!known_places.collides, "find other multipliers for name_hash");
static_assert(std::endian::native == std::endian::little, "tails are loaded as they are compared");

inline std::uint32_t load32(const char* from) {
  std::uint32_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

inline std::uint64_t load64(const char* from) {
  std::uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// Compares a name with a lower-case one of the same length by overlapping words, so that it reads
// nothing outside either. Setting the bit 0x20 folds letters and leaves digits and '-' alone; the
// only other bytes that fold onto them are controls, which the caller has excluded.
inline bool same_name(const char* name, const char* lower, std::size_t length) {
  constexpr std::uint64_t fold = 0x2020202020202020u;
  if (length >= 8) {
    std::uint64_t differ = 0;
    for (std::size_t at = 0; at + 8 < length; at += 8) {
      differ |= (load64(name + at) | fold) ^ load64(lower + at);
    }
    std::size_t last = length - 8;
    return (differ | ((load64(name + last) | fold) ^ load64(lower + last))) == 0;
  }
  if (length >= 4) {
    std::size_t last = length - 4;
    std::uint32_t differ = (load32(name) | 0x20202020u) ^ load32(lower);
    return (differ | ((load32(name + last) | 0x20202020u) ^ load32(lower + last))) == 0;
  }
  for (std::size_t at = 0; at < length; ++at) {
    if ((name[at] | 0x20) != lower[at]) return false;
  }
  return true;
}

// Precondition: the name is preceded by "\r\n" and at least two more bytes, and has no byte below
// 0x21.
inline header_id recognise(const char* name, std::size_t length) {
  std::uint32_t tail = load32(name + length - 4) | 0x20202020u;
  std::size_t id = known_places.places[name_hash(tail, *name, length)];
  std::string_view candidate = header_names[id];
  bool same = candidate.size() == length && same_name(name, candidate.data(), length);
  return static_cast<header_id>(same ? id : 0);
}

}  // namespace heddle::http::detail
