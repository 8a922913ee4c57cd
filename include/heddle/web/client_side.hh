// SPDX-License-Identifier: MIT
// What a server knows of a client's side of a connection without reading from it.
#pragma once

#include <cstdint>

namespace heddle::http {

/// See request::look_at_client().
enum class client_side : std::uint8_t {
  open,   ///< it has not ended, or that cannot be seen
  ended,  ///< nothing more comes; all of the body may have arrived
  lost,   ///< the body can never be whole, or nothing can be sent to the client any more
};

}  // namespace heddle::http
