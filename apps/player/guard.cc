// SPDX-License-Identifier: MIT
// Marks segments with the session and a check of their header, and lets nothing else in: what an
// earlier session left on its way, or a stranger sent. (UDP's own checksum guards the payload. This
// is no protection against somebody who knows the session.)
#include "endpoint.hh"

namespace player {
namespace {

class guard final : public micro_protocol {
 public:
  explicit guard(endpoint& e) : here_(e) {
    e.bus.bind<session_opened, &guard::start>(this, 5);
    e.bus.bind<segment_to_net, &guard::mark>(this, 80);
    e.bus.bind<segment_from_net, &guard::let_in>(this, 10);
    start();
  }

 private:
  void start() { key_ = here_.session * 0x9e3779b97f4a7c15u + 1; }

  [[nodiscard]] std::uint32_t check_of(const segment& s) const noexcept {
    const auto pair = [](std::uint32_t high, std::uint32_t low) {
      return std::uint64_t{high} << 32 | low;
    };
    const auto bits =
        static_cast<std::uint32_t>(s.kind) | static_cast<std::uint32_t>(s.group_len) << 8 |
        static_cast<std::uint32_t>(s.last) << 16 | static_cast<std::uint32_t>(s.group_end) << 17;
    // Two lanes, so that the multiplications do not wait for each other.
    std::uint64_t a = (key_ ^ pair(s.sequence, s.group)) * 0xff51afd7ed558ccdu;
    std::uint64_t b = (key_ + pair(s.frame, s.offset)) * 0xc4ceb9fe1a85ec53u;
    a = (a ^ (a >> 29) ^ pair(s.total, bits)) * 0x9fb21c651e98df25u;
    b = (b ^ (b >> 31) ^ s.settled) * 0xd6e8feb86659fd93u;
    const std::uint64_t both = a ^ (a >> 32) ^ b ^ (b >> 28) ^ s.payload.size();
    return static_cast<std::uint32_t>(both ^ (both >> 32));
  }

  void mark(outgoing& s) {
    s.session = here_.session;
    s.check = check_of(s);
  }

  heddle::flow let_in(segment& s) {
    if (s.recovered || (s.session == here_.session && s.check == check_of(s))) [[likely]]
      return heddle::flow::go_on;
    ++here_.count.foreign;
    return heddle::flow::halt;
  }

  endpoint& here_;
  std::uint64_t key_ = 0;
};

}  // namespace

part make_guard(endpoint& e) { return std::make_unique<guard>(e); }

}  // namespace player
