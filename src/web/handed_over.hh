// SPDX-License-Identifier: MIT
// A connection that HTTP/1 has done with and that something else goes on with: HTTP/2, or the
// function that a handler gave (request::hand_over). It passes through the server's shared state,
// so that the frame of an idle connection needs no room for it.
#pragma once

#include <functional>
#include <memory>

#include "heddle/web/upgraded.hh"
#include "web/http2_server_connection.hh"

namespace heddle::http {

struct handed_over {
  const stream* of;  ///< the connection
  std::unique_ptr<http2_server_connection> http2;
  take_over then;     ///< without http2
  std::string early;  ///< bytes for `then` that have come
};

}  // namespace heddle::http
