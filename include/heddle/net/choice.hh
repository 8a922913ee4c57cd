// SPDX-License-Identifier: MIT
// The text by which HEDDLE_NET and `heddle serve --net` choose a network:
//
//   kernel
//   user:DEVICE,ADDRESS[,PART]...      user:tun0,10.9.0.2/24,trace=packets.pcap,memory=256M
//
// A part is memory=SIZE, shard-memory=SIZE, full=wait or full=refuse, dump=CONNECTIONS, trace=FILE
// or trace-size=SIZE. A size is a number of bytes, with K, M or G behind it for 2^10, 2^20, 2^30.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/net/provider.hh"

namespace heddle::net {

/// A network that was chosen by a text. Thread: any; it is a value.
struct choice {
  std::optional<user_options> user;  ///< TCP in the program; nullopt: the kernel's
  std::uint64_t memory = 0;          ///< bytes of all stacks together; 0: no such bound
  std::string trouble;               ///< the reason why the text is wrong; empty: it is right
};

/// Reads such a text; opens nothing. Thread: any.
[[nodiscard]] choice read_choice(std::string_view text);

}  // namespace heddle::net
