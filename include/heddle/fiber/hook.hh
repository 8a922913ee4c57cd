// SPDX-License-Identifier: MIT
// Target heddle_hook: inside a fiber that opted in, blocking calls of the C library wait through
// the driver instead of blocking the worker. This is for libraries that do not know Heddle. Linking
// the target replaces these calls in the program; outside of such a fiber they behave as before.
//
//   co_await fiber(fiber_options{.hooks = true}, query, conninfo);   // calls libpq
#pragma once

#include <array>
#include <string_view>

namespace heddle {

/// One line of `heddle explain hooks`.
struct hooked_call {
  std::string_view name;
  std::string_view how;  ///< how it waits; if not covered, its behaviour instead
  bool covered;
};

inline constexpr std::string_view hook_by_readiness = "waits until the descriptor is ready";
inline constexpr std::string_view hook_by_timer = "waits by a timer";
inline constexpr std::string_view hook_by_pool = "runs on a thread of the pool";

/// The calls that heddle_hook replaces, and some that users might expect but that it does not
/// replace.
inline constexpr std::array hooked_calls{
    hooked_call{"read", "waits until the descriptor is ready; files by the driver", true},
    hooked_call{"write", "waits until the descriptor is ready; files by the driver", true},
    hooked_call{"readv", hook_by_readiness, true},
    hooked_call{"writev", hook_by_readiness, true},
    hooked_call{"recv", hook_by_readiness, true},
    hooked_call{"recvfrom", hook_by_readiness, true},
    hooked_call{"recvmsg", hook_by_readiness, true},
    hooked_call{"send", hook_by_readiness, true},
    hooked_call{"sendto", hook_by_readiness, true},
    hooked_call{"sendmsg", hook_by_readiness, true},
    hooked_call{"accept", hook_by_readiness, true},
    hooked_call{"accept4", hook_by_readiness, true},
    hooked_call{"connect", hook_by_readiness, true},
    hooked_call{"poll", "waits until a descriptor is ready, or by a timer", true},
    hooked_call{"select", "waits until a descriptor is ready, or by a timer", true},
    hooked_call{"nanosleep", hook_by_timer, true},
    hooked_call{"clock_nanosleep", "waits by a timer; an absolute time on another clock blocks",
                true},
    hooked_call{"usleep", hook_by_timer, true},
    hooked_call{"sleep", hook_by_timer, true},
    hooked_call{"getaddrinfo", hook_by_pool, true},
    hooked_call{"close", "tells the driver that the number may be used for another file", true},
    hooked_call{"fread, fgets, printf, ...", "blocks: the C library uses its internal calls",
                false},
    hooked_call{"epoll_wait, ppoll, pselect",
                "blocks: for libraries with an event loop of their own", false},
    hooked_call{"open, stat, fsync, flock, ...", "blocks until the disk has finished", false},
    hooked_call{"pthread_mutex_lock, sem_wait, ...", "blocks; can deadlock if held during a wait",
                false},
    hooked_call{"waitpid, system, ...", "blocks", false},
    hooked_call{"SO_RCVTIMEO, SO_SNDTIMEO", "ignored: limit the fiber with with_timeout", false},
};

}  // namespace heddle
