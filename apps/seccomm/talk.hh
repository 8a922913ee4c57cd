// SPDX-License-Identifier: MIT
// Two channels that talk over UDP on the loopback interface, and what their pushes and pops cost.
#pragma once

#include <string>
#include <vector>

#include "heddle/core/task.hh"

namespace seccomm {

struct talk_options {
  std::vector<std::size_t> sizes = {64, 128, 256, 512, 1024, 2048};
  std::uint32_t count = 10'000;  ///< messages of each size
  std::string ciphers = "chacha20,aes_256_gcm";
};

/// For one size.
struct talk_result {
  std::size_t size = 0;
  std::uint64_t arrived = 0;  ///< as they were sent; each was compared
  double push_ns = 0;         ///< processor time from the user to the socket, without the socket
  double pop_ns = 0;          ///< and from the socket to the user; the least of ten parts
};

/// Fails with std::invalid_argument for options that make no sense, with std::runtime_error when
/// something arrives that was not sent.
[[nodiscard]] heddle::task<std::vector<talk_result>> talk(talk_options o);

}  // namespace seccomm
