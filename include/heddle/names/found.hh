// SPDX-License-Identifier: MIT
// The result of a look-up: addresses, or a problem with a code and a text for people.
#pragma once

#include <expected>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

#include "heddle/base/clock.hh"
#include "heddle/base/language.hh"
#include "heddle/io/address.hh"

namespace heddle::names {

/// Why a name has no addresses. In brackets the std::errc that the code compares equal to.
enum class errc : int {
  no_such_name = 1,  ///< the servers say so [address_not_available]
  no_address,        ///< the name exists, but has no address of this version [the same]
  bad_name,          ///< not the name of a host; no server was asked [invalid_argument]
  server_failed,     ///< each server refused or had a failure [resource_unavailable_try_again]
  no_answer,         ///< no server answered in time, or none could be reached [timed_out]
  bad_answer,        ///< an answer broke the rules of RFC 1035 [bad_message]
  no_server,         ///< no name server is known [resource_unavailable_try_again]
  too_many,          ///< resolver_options::questions_max [device_or_resource_busy]
  bad_file,          ///< a file of resolver_files cannot be read [io_error]
  not_built,         ///< servers were given, but this build has no c-ares [not_supported]
};

[[nodiscard]] const std::error_category& category() noexcept;
[[nodiscard]] inline std::error_code make_error_code(errc code) noexcept {
  return {static_cast<int>(code), category()};
}

struct found {
  std::vector<address> addresses;  ///< never empty; version 6 first, each version as it came
  std::string name;     ///< the addresses' own name, behind all aliases; the host if unknown
  nanoseconds ttl{0};   ///< time for which the answer may still be used
  bool cached = false;  ///< no server was asked
};

/// `text` names the host and says what happened: "cannot find x.example.org: there is no such name
/// (192.0.2.1:53)".
struct problem {
  std::error_code code;
  std::string text;
};

using outcome = std::expected<found, problem>;

}  // namespace heddle::names

template <>
struct std::is_error_code_enum<heddle::names::errc> : std::true_type {};
