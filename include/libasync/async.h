/* SPDX-License-Identifier: MIT
 * libasync's core for programs that were written for it, on Heddle's runtime: strings, counted
 * pointers, callbacks, timers, descriptors, connections and messages. Including it starts the
 * runtime before main(), as libasync does. HEDDLE_ASYNC_FLAGS may be defined before, as
 * tamer::several_workers. Needs heddle::tamer.
 *
 * RPC is in arpc.h. Crypto, DNS records and asynchronous files are not here: their headers say so.
 */
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../tame.h"
#include "callback.h"
#include "err.h"
#include "refcnt.h"
#include "str.h"
#include "vec.h"

#ifndef HEDDLE_ASYNC_FLAGS
#define HEDDLE_ASYNC_FLAGS tamer::init_default
#endif

using u_int16_t = std::uint16_t;
using u_int32_t = std::uint32_t;
using u_int64_t = std::uint64_t;
using std::max;
using std::min;

#define Xtmpl template  // in `p->Xtmpl getarg<int>()`

namespace heddle::libasync {

#ifndef HEDDLE_ASYNC_INSIDE  // the library itself starts nothing
inline const bool started = (tamer::initialize(HEDDLE_ASYNC_FLAGS), true);
#endif

/// Makes a socket of the family of IPv4, non-blocking, closed on exec, bound to this address.
[[nodiscard]] int make_inet_socket(int type, std::uint16_t port, std::uint32_t address);

}  // namespace heddle::libasync

/// The time of the last turn of the loop, in seconds.
[[nodiscard]] time_t timenow();
[[nodiscard]] inline time_t sfs_get_timenow() { return timenow(); }

void make_async(int fd);
void close_on_exec(int fd);
/// A new socket, or -1 with errno.
[[nodiscard]] inline int inetsocket(int type, std::uint16_t port = 0,
                                    std::uint32_t address = INADDR_ANY) {
  return heddle::libasync::make_inet_socket(type, port, address);
}
void tcp_nodelay(int fd);

/// Connects to a host by its name or its address. The result is a descriptor, or -1 with errno.
/// If `name` is not null, it gets the name that was looked up.
void tcpconnect(str host, std::uint16_t port, cbi done, bool dnssearch = true, str* name = nullptr);
void tcpconnect(in_addr address, std::uint16_t port, cbi done);
