// SPDX-License-Identifier: MIT
// Names to addresses, by the system's resolver in threads for look-ups alone
// (runtime_options::io.lookup_threads_max): a silent name server keeps each of them for many
// seconds, and no file call waits behind it. Addresses in numbers are answered at once. A program
// that asks many names uses room names, which needs no thread.
#pragma once

#include <string>
#include <system_error>
#include <vector>

#include "heddle/core/task.hh"
#include "heddle/io/address.hh"

namespace heddle {

/// The IP versions of the wanted addresses.
enum class address_family : std::uint8_t { any, v4, v6 };

struct resolve_options {
  address_family family = address_family::any;
  bool to_listen = false;  ///< an empty host means every interface, not this machine
};

/// The category of the resolver's errors, EAI_NONAME and its like. A name that does not exist
/// compares equal to std::errc::address_not_available, a resolver that should be asked again later
/// to std::errc::resource_unavailable_try_again.
[[nodiscard]] const std::error_category& resolver_category() noexcept;

/// The addresses of a host, in the order in which to try them; never empty.
///
/// Resumes: the awaiting frame. Cancel: ends with operation_canceled at once; a look-up that has
/// begun goes on in its thread until the system answers, also past the runtime's end. Fails: with a
/// code of resolver_category(), naming the host.
///
///   for (const address& a : co_await resolve("localhost", "http")) ...
[[nodiscard]] task<std::vector<address>> resolve(std::string host, std::string service = "0",
                                                 resolve_options options = {});

}  // namespace heddle
