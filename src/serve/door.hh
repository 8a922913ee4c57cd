// SPDX-License-Identifier: MIT
// The listening socket of `heddle serve`: opened here, or passed by the service manager
// (LISTEN_FDS, as systemd does).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "heddle/io/tcp.hh"
#include "serve/options.hh"

namespace heddle::serve {

/// Opens the socket. If the port is in use, it retries for a second, because the kernel may hold
/// the socket of a killed server for a moment. It tries the next ports only if the session is
/// interactive and the user chose no port, since only a person can read the new number. Fails:
/// failure, with the port and the flag that helps: `flag` sets the port.
[[nodiscard]] task<tcp_listener> open_door(const serve_options& o, bool interactive,
                                           std::string flag);

/// The port that the settings ask for, or the default one.
[[nodiscard]] std::uint16_t port_asked(const serve_options& o);

/// Throws bad_setting if two settings name one address: the second could not be opened.
void check_places(const serve_options& o);

/// Says what open_door() and open_more_doors() would say about each place, and opens nothing. A
/// port or a path in use passes, because the server that these settings are for may be running.
/// Places of `given` sockets are not looked at. Fails: as those functions.
[[nodiscard]] task<> try_doors(const serve_options& o, bool main_given, std::vector<int>& given);

/// Fails: failure, if a socket passed by another server has another address than the settings ask
/// for.
void check_door(const serve_options& o, const address& given);

/// The socket that the service manager passed; none if it passed none. Fails: failure, if it is not
/// a listening TCP socket, if there are several, or if --net user leaves no use for it.
[[nodiscard]] std::optional<tcp_listener> activated_door(const serve_options& o);

/// A listener of --listen.
struct more_door {
  listener at;
  bool local = false;  ///< a path: without TLS, because no connection leaves this machine
};

/// The sockets of --listen: those that another server gave, as far as they listen at these places,
/// and new ones. Sockets that are used leave `given`. Those on a path have the permissions that the
/// umask leaves. Fails: failure, naming the place. A socket file that no process listens on any
/// more is replaced.
[[nodiscard]] task<std::vector<more_door>> open_more_doors(const serve_options& o,
                                                           std::vector<int>& given);

/// The socket among those that another server gave that listens where `o` asks, if there is one;
/// it leaves `given`.
[[nodiscard]] std::optional<tcp_listener> given_door(const serve_options& o,
                                                     std::vector<int>& given);

/// Takes no more connections from the system; those that it has accepted already are served.
/// Returns after `grace`, once the server that accepts from `door` has closed it. A full server
/// accepts no more, so that takes a second at most.
[[nodiscard]] task<> close_doors(const listener& door, const std::vector<more_door>& more,
                                 nanoseconds grace);

/// Duplicates of these listeners for another worker.
[[nodiscard]] std::vector<more_door> more_doors_again(const std::vector<more_door>& doors);

/// A duplicate of the socket for another worker; a free worker accepts the next connection.
[[nodiscard]] tcp_listener another_door(const tcp_listener& door);

}  // namespace heddle::serve
