// SPDX-License-Identifier: MIT
// The part that goes on with a connection behind HTTP/1: HTTP/2, or the function that a handler
// gave (request::hand_over).
#pragma once

#include <cstdint>
#include <memory>

#include "heddle/web/upgraded.hh"
#include "web/http2_server_connection.hh"

namespace heddle::http {

struct handed_over {
  std::unique_ptr<http2_server_connection> http2;
  take_over then;     ///< without http2
  std::string early;  ///< bytes for `then` that have come
};

/// Goes on with a connection that HTTP/1 has done with.
class connection_taker {
 public:
  virtual void take_over(stream&& conn, std::uint32_t of_peer,
                         std::unique_ptr<handed_over> next) = 0;

 protected:
  ~connection_taker() = default;
};

}  // namespace heddle::http
