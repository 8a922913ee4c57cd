// SPDX-License-Identifier: MIT
// Finds the connection of a segment: a table of chains, keyed so that an outsider cannot choose
// segments that fall into one chain. A chain has one or two connections on average.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/base/siphash.hh"
#include "heddle/tcp/address.hh"
#include "tcp/pcb.hh"

namespace heddle::tcp {

using pcb_pool = pool<pcb, 256>;

/// The keyed hash of a connection's four values.
template <int Each, int Last>
[[nodiscard]] inline std::uint64_t hash_flow(const siphash_key& key, const flow& f) noexcept {
  const std::uint64_t ports = std::uint64_t{f.local.port} << 16 | f.remote.port;
  std::uint64_t words[5];
  if (f.local.address.is_v4()) {
    std::uint32_t a = 0, b = 0;
    std::memcpy(&a, f.local.address.bytes.data() + 12, 4);
    std::memcpy(&b, f.remote.address.bytes.data() + 12, 4);
    words[0] = std::uint64_t{a} << 32 | b;
    words[1] = ports;
    return siphash<Each, Last>(key, {words, 2});
  }
  std::memcpy(words, f.local.address.bytes.data(), 16);
  std::memcpy(words + 2, f.remote.address.bytes.data(), 16);
  words[4] = ports;
  return siphash<Each, Last>(key, words);
}

class demux {
 public:
  explicit demux(const siphash_key& key) : key_(key), buckets_(64, no_index) {}

  [[nodiscard]] std::uint64_t hash(const flow& f) const noexcept {
    return hash_flow<1, 3>(key_, f);
  }
  /// The index of the connection; no_index if there is none.
  [[nodiscard]] std::uint32_t find(const pcb_pool& pcbs, std::uint64_t hash, std::uint8_t local,
                                   const flow& f) const noexcept {
    std::uint32_t at = buckets_[hash & (buckets_.size() - 1)];
    while (at != no_index) {
      const pcb& c = pcbs[at];
      if (c.remote_port == f.remote.port && c.local_port == f.local.port && c.local == local &&
          c.remote == f.remote.address)
        break;
      at = c.link;
    }
    return at;
  }
  void add(pcb_pool& pcbs, std::uint32_t index, std::uint64_t hash);
  void remove(pcb_pool& pcbs, std::uint32_t index, std::uint64_t hash) noexcept;
  /// Doubles the table when it is full; `flow_of` gives a connection's flow.
  template <class FlowOf>
  void widen(pcb_pool& pcbs, FlowOf&& flow_of) {
    if (count_ <= 2 * buckets_.size()) return;
    std::vector<std::uint32_t> old(buckets_.size() * 2, no_index);
    old.swap(buckets_);
    for (std::uint32_t at : old)
      while (at != no_index) {
        const std::uint32_t next = pcbs[at].link;
        std::uint32_t& head = buckets_[hash(flow_of(pcbs[at])) & (buckets_.size() - 1)];
        pcbs[at].link = head;
        head = at;
        at = next;
      }
  }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

 private:
  siphash_key key_;
  std::vector<std::uint32_t> buckets_;
  std::size_t count_ = 0;
};

inline void demux::add(pcb_pool& pcbs, std::uint32_t index, std::uint64_t hash) {
  std::uint32_t& head = buckets_[hash & (buckets_.size() - 1)];
  pcbs[index].link = head;
  head = index;
  ++count_;
}

inline void demux::remove(pcb_pool& pcbs, std::uint32_t index, std::uint64_t hash) noexcept {
  std::uint32_t* at = &buckets_[hash & (buckets_.size() - 1)];
  while (*at != index) at = &pcbs[*at].link;
  *at = pcbs[index].link;
  --count_;
}

}  // namespace heddle::tcp
