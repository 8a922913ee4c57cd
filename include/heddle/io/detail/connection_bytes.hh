// SPDX-License-Identifier: MIT
// The bytes that an open connection takes. Each is compared, at compile time, with the size of the
// type that it names, where that type is defined; `heddle draft --emit plan` prints them.
#pragma once

#include <cstddef>

namespace heddle::detail {

inline constexpr std::size_t bytes_of_socket = 144;         ///< socket_state
inline constexpr std::size_t bytes_of_number_io_uring = 8;  ///< in a driver's table, by number
inline constexpr std::size_t bytes_of_number_epoll = 24;    ///< the same, also with poll

}  // namespace heddle::detail
