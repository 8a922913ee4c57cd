// SPDX-License-Identifier: MIT
// One question to one server: by a datagram from a socket of its own, or over a connection. Each
// try has a new port, chosen by the system, and a new id: an attacker who does not see the question
// has to guess both (RFC 5452 section 9.2).
#pragma once

#include "heddle/core/task.hh"
#include "heddle/names/counters.hh"
#include "heddle/names/options.hh"
#include "names/message.hh"

namespace heddle::names::detail {

/// Gives an answer to this question, never a mismatch. Asks over TCP if the answer is truncated, or
/// after too many datagrams that did not answer it. There is no time limit in this function.
/// Cancel: the socket is closed. Fails: as the system says, std::system_error.
[[nodiscard]] task<reply> ask_server(address server, question q, bool edns,
                                     const resolver_options& options, bool tcp_only,
                                     resolver_counters& counters);

}  // namespace heddle::names::detail
