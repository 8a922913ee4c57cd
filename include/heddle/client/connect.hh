// SPDX-License-Identifier: MIT
// Happy eyeballs (RFC 8305): connects to a host that has several addresses, of which some may not
// answer. Versions 6 and 4 take turns; each attempt gets a head start; the first connection wins.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "heddle/base/clock.hh"
#include "heddle/core/task.hh"
#include "heddle/io/tcp.hh"
#include "heddle/io/tcp_source.hh"
#include "heddle/names/resolver.hh"

namespace heddle {

/// The order in which to try these addresses: as given, but with the two versions in turns.
[[nodiscard]] std::vector<address> interleaved(std::vector<address> found);

/// Connects to the first of these addresses that accepts. The next attempt begins after `stagger`,
/// or as soon as the one before has failed.
/// Cancel: all attempts are given up. Fails: with the reason of the last one, naming the address.
[[nodiscard]] task<tcp_stream> connect_first(std::vector<address> to,
                                             nanoseconds stagger = std::chrono::milliseconds(250));
/// connect_first() with the host's addresses (resolve()).
[[nodiscard]] task<tcp_stream> connect_first(std::string host, std::uint16_t port,
                                             nanoseconds stagger = std::chrono::milliseconds(250));
/// connect_first() with the addresses that this resolver finds; it must outlive the task. Fails
/// also as names::resolver::lookup().
[[nodiscard]] task<tcp_stream> connect_first(names::resolver& names, std::string host,
                                             std::uint16_t port,
                                             nanoseconds stagger = std::chrono::milliseconds(250));
/// connect_first() with connections of this source; null: the kernel's sockets.
[[nodiscard]] task<stream> connect_first(std::shared_ptr<tcp_source> by, std::vector<address> to,
                                         nanoseconds stagger = std::chrono::milliseconds(250));

}  // namespace heddle
