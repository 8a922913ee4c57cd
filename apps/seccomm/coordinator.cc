// SPDX-License-Identifier: MIT
// Has the ciphers run, and knows which packets have come: of the last 64 numbers each one once, and
// none that is older.
#include "channel.hh"

namespace seccomm {
namespace {

constexpr std::uint64_t remembered = 64;

class coordinator final : public micro_protocol {
 public:
  explicit coordinator(channel& c) : here_(c) {
    c.bus.bind<message_push, &coordinator::push>(this);
    c.bus.bind<packet_from_net, &coordinator::pop>(this);
  }

 private:
  void push(packet& p) {
    p.number = next_++;
    for (std::size_t i = 0; i < header_bytes; ++i)
      p.bytes[i] = static_cast<std::byte>(p.number >> (8 * i));
    here_.bus.raise<packet_protect>(p);
    here_.bus.raise<packet_to_net>(p);
  }

  void pop(packet& p) {
    p.number = 0;
    for (std::size_t i = 0; i < header_bytes; ++i)
      p.number |= static_cast<std::uint64_t>(p.bytes[i]) << (8 * i);
    if (known(p.number)) {
      ++here_.replayed;
      return;
    }
    if (here_.bus.raise<packet_unprotect>(p) == heddle::flow::halt) {
      ++here_.refused;
      return;
    }
    note(p.number);  // only now: a stranger must not make us refuse what is yet to come
    here_.bus.raise<message_pop>(p);
  }

  [[nodiscard]] bool known(std::uint64_t n) const noexcept {
    if (n >= end_) return false;
    return end_ - n > remembered || (came_ >> (end_ - 1 - n) & 1) != 0;
  }
  void note(std::uint64_t n) noexcept {
    if (n >= end_) {
      const std::uint64_t by = n + 1 - end_;
      came_ = by >= remembered ? 0 : came_ << by;
      end_ = n + 1;
    }
    came_ |= std::uint64_t{1} << (end_ - 1 - n);
  }

  channel& here_;
  std::uint64_t next_ = 1;
  std::uint64_t end_ = 1;   // one behind the highest number that came; 0 is nobody's
  std::uint64_t came_ = 1;  // bit n: end_ - 1 - n has come
};

}  // namespace

std::unique_ptr<micro_protocol> make_coordinator(channel& c) {
  return std::make_unique<coordinator>(c);
}

}  // namespace seccomm
