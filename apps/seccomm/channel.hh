// SPDX-License-Identifier: MIT
// Secure communication put together from micro-protocols: ciphers, each of which changes the body
// of a packet in place, and a coordinator that numbers packets, has the ciphers run, and refuses
// what was there before. The topics by which they speak stand here too.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "packet.hh"
#include "seccomm_bus.hh"

namespace seccomm {

/// 32 bytes that both sides know. Each cipher and direction derives its own key from it.
using shared_key = std::array<std::byte, 32>;
[[nodiscard]] shared_key make_key();

enum class side : std::uint8_t { first, second };

/// What ciphers need to begin.
struct session {
  shared_key key;
  side here;
};

struct session_keyed : heddle::topic<const session&> {};
struct message_push : heddle::topic<packet&> {};               ///< the user has a message
struct packet_protect : heddle::topic<packet&> {};             ///< ciphers run, the inner one first
struct packet_to_net : heddle::topic<packet&> {};              ///< it is ready to be sent
struct packet_from_net : heddle::topic<packet&> {};            ///< one has come
struct packet_unprotect : heddle::haltable_topic<packet&> {};  ///< halted by a cipher that refuses
struct message_pop : heddle::topic<packet&> {};                ///< the user gets a message

class micro_protocol {
 public:
  micro_protocol() = default;
  micro_protocol(const micro_protocol&) = delete;
  micro_protocol& operator=(const micro_protocol&) = delete;
  virtual ~micro_protocol() = default;
};

/// Thread: one color. Owns: its micro-protocols. The user binds to packet_to_net and message_pop.
/// Fails: the constructor with std::invalid_argument for a cipher that is not known, and for none
///   that authenticates; push with std::length_error.
///
///   channel c(key, side::first);
///   c.bus.bind<packet_to_net>([&](packet& p) { send(p.wire()); });
///   c.push(message);
class channel {
 public:
  /// `ciphers`: names with commas, the inner one first.
  channel(const shared_key& key, side here, const std::string& ciphers = "chacha20,aes_256_gcm");
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;
  ~channel();

  void push(std::span<const std::byte> message);
  /// Takes what came; message_pop follows unless it is refused.
  void pop(std::span<const std::byte> wire);

  event_bus bus;
  std::uint64_t refused = 0;   ///< packets that were not from the other side, or were changed
  std::uint64_t replayed = 0;  ///< packets that had come before, or were too old to tell

 private:
  std::vector<std::unique_ptr<micro_protocol>> parts_;
  std::unique_ptr<packet> leaving_ = std::make_unique<packet>();
  std::unique_ptr<packet> coming_ = std::make_unique<packet>();  // a reply must not overwrite it
};

[[nodiscard]] std::unique_ptr<micro_protocol> make_coordinator(channel& c);
/// `place` is its place from the inside, from 0.
[[nodiscard]] std::unique_ptr<micro_protocol> make_chacha20(channel& c, int place);
[[nodiscard]] std::unique_ptr<micro_protocol> make_aes_256_gcm(channel& c, int place);

}  // namespace seccomm
