// SPDX-License-Identifier: MIT
// From names to ciphers, and between the user's bytes and packets.
#include "channel.hh"

#include <algorithm>
#include <stdexcept>

namespace seccomm {

channel::channel(const shared_key& key, side here, const std::string& ciphers) {
  parts_.push_back(make_coordinator(*this));
  int place = 0;
  bool authentic = false;
  for (std::size_t at = 0; at <= ciphers.size();) {
    const std::size_t end = std::min(ciphers.find(',', at), ciphers.size());
    const std::string name = ciphers.substr(at, end - at);
    at = end + 1;
    if (name == "chacha20") {
      parts_.push_back(make_chacha20(*this, place++));
    } else if (name == "aes_256_gcm" && !authentic) {
      parts_.push_back(make_aes_256_gcm(*this, place++));
      authentic = true;
    } else {
      throw std::invalid_argument("no cipher '" + name +
                                  "' here; there are: chacha20, aes_256_gcm (once)");
    }
  }
  if (!authentic)
    throw std::invalid_argument("without aes_256_gcm nobody would notice a change: add it");
  bus.raise<session_keyed>(session{key, here});
}

// Ciphers hold keys in OpenSSL's contexts, which it wipes.
channel::~channel() = default;

void channel::push(std::span<const std::byte> message) {
  if (message.size() > message_max)
    throw std::length_error("a message of " + std::to_string(message.size()) + " bytes; at most " +
                            std::to_string(message_max) + ": send two");
  packet& p = *leaving_;
  p.size = message.size();
  std::ranges::copy(message, p.body());
  bus.raise<message_push>(p);
}

void channel::pop(std::span<const std::byte> wire) {
  packet& p = *coming_;
  if (wire.size() < header_bytes || wire.size() > p.bytes.size()) {
    ++refused;
    return;
  }
  p.size = wire.size() - header_bytes;
  std::ranges::copy(wire, p.bytes.begin());
  bus.raise<packet_from_net>(p);
}

}  // namespace seccomm
