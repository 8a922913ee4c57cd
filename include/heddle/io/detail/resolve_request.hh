// SPDX-License-Identifier: MIT
// A question to the resolver and its answer, as op_code::resolve carries it. Addresses are the
// bytes of a sockaddr, so that this header needs no header of the system.
//
// If the question is in a shared_ptr, the waiting task need not wait for the system: a thread that
// has begun keeps the question. Without one, the waiting task gets the answer, also when it is
// cancelled.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace heddle {

struct resolve_request : std::enable_shared_from_this<resolve_request> {
  struct found_address {
    std::array<std::byte, 128> bytes{};  ///< a sockaddr of any family (sockaddr_storage has 128)
    std::uint32_t len = 0;
  };

  std::string host;     ///< empty: any address, for listening
  std::string service;  ///< a number or a name
  int family = 0;       ///< AF_UNSPEC, AF_INET or AF_INET6
  bool passive = false;
  std::vector<found_address> found;
  int error = 0;  ///< an EAI_* code, 0 if none
};

}  // namespace heddle
