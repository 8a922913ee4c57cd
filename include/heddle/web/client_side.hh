// SPDX-License-Identifier: MIT
// The state of a client's side of a connection, as far as a server sees it without reading.
#pragma once

#include <cstdint>

namespace heddle::http {

/// A side of a connection, as request::look_at_client() gives it.
enum class client_side : std::uint8_t {
  open,   ///< the side has not ended, or that cannot be seen
  ended,  ///< no more bytes come; all of the body may have arrived
  lost,   ///< the body can never be whole, or nothing can be sent to the client any more
};

}  // namespace heddle::http
