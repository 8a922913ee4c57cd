// SPDX-License-Identifier: MIT
// Turns of a listener's handshakes. One address gets at most a quarter of them, so that clients
// that begin handshakes and never end them delay only clients of their own address.
#pragma once

#include <netinet/in.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "heddle/io/address.hh"
#include "heddle/sync/semaphore.hh"

namespace heddle::tls::detail {

/// Thread: the listener's color.
class handshake_turns {
 public:
  explicit handshake_turns(std::uint32_t most)
      : all(most), share_(std::max<std::uint32_t>(most / 4, 1)) {}

  /// The turns of an IPv4 address or an IPv6 /64; null for a peer without an address.
  [[nodiscard]] std::shared_ptr<semaphore> of(const address& peer) {
    const std::uint64_t key = key_of(peer);
    if (key == 0) return nullptr;
    if (each_.size() >= sweep_at_) {
      std::erase_if(each_, [](const auto& one) { return one.second.expired(); });
      sweep_at_ = std::max(sweep_first, 2 * each_.size());
    }
    std::weak_ptr<semaphore>& place = each_[key];
    std::shared_ptr<semaphore> found = place.lock();
    if (found == nullptr) place = found = std::make_shared<semaphore>(share_);
    return found;
  }

  [[nodiscard]] std::size_t known() const noexcept { return each_.size(); }

  semaphore all;

 private:
  static constexpr std::size_t sweep_first = 4096;

  static std::uint64_t key_of(const address& peer) noexcept {
    const address a = peer ? peer.unmapped() : peer;
    std::uint64_t key = 0;
    if (a.is_v6())
      std::memcpy(&key, &reinterpret_cast<const ::sockaddr_in6*>(a.native())->sin6_addr,
                  sizeof key);
    else if (a.is_v4())
      key = std::uint64_t{1} << 32 |
            reinterpret_cast<const ::sockaddr_in*>(a.native())->sin_addr.s_addr;
    return key;
  }

  std::uint32_t share_;
  std::size_t sweep_at_ = sweep_first;
  std::unordered_map<std::uint64_t, std::weak_ptr<semaphore>> each_;
};

}  // namespace heddle::tls::detail
