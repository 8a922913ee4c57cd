// SPDX-License-Identifier: MIT
// The part that goes on with a connection behind HTTP/1: HTTP/2, or the function that a handler
// gave (request::hand_over).
#pragma once

#include <functional>
#include <memory>

#include "heddle/web/upgraded.hh"
#include "web/http2_server_connection.hh"

namespace heddle::http {

struct handed_over {
  std::unique_ptr<http2_server_connection> http2;
  take_over then;     ///< without http2
  std::string early;  ///< bytes for `then` that have come
};

}  // namespace heddle::http
