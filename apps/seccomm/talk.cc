// SPDX-License-Identifier: MIT
// Messages go in batches: pushed into a buffer, sent and received one by one, popped from a buffer,
// so that the clock is read twice for a batch and what the socket costs is not in it.
#include "talk.hh"

#include <algorithm>
#include <ctime>
#include <stdexcept>

#include "channel.hh"
#include "heddle/io/udp.hh"

namespace seccomm {

namespace {

constexpr std::size_t batch = 64;

double cpu_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

struct datagram_copy {
  std::size_t size = 0;
  std::array<std::byte, sizeof(packet)> bytes;
};

/// The user at both ends.
class talker {
 public:
  talker(const talk_options& o, const shared_key& key)
      : from_(key, side::first, o.ciphers), to_(key, side::second, o.ciphers), wire_(batch) {
    from_.bus.bind<packet_to_net, &talker::keep>(this);
    to_.bus.bind<message_pop, &talker::compare>(this);
  }

  [[nodiscard]] heddle::task<talk_result> run(std::size_t size, std::uint32_t count) {
    message_.resize(size);
    for (std::size_t i = 0; i < size; ++i) message_[i] = static_cast<std::byte>(i * 31 + size);
    arrived_ = 0;
    const auto out = heddle::udp_socket::bind(heddle::address::loopback(0));
    const auto in = heddle::udp_socket::bind(heddle::address::loopback(0));
    const heddle::address there = in.local();
    talk_result r{size, 0, 1e300, 1e300};
    const std::uint32_t each = std::max<std::uint32_t>(count / 10 / batch, 1);
    for (int part = 0; part < 10; ++part) {
      double push_ns = 0;
      double pop_ns = 0;
      for (std::uint32_t i = 0; i < each; ++i) {
        const double push_began = cpu_ns();
        next_ = 0;
        for (std::size_t n = 0; n < batch; ++n) from_.push(message_);
        push_ns += cpu_ns() - push_began;
        for (datagram_copy& d : wire_) {
          co_await out.send_to(there, heddle::byte_view(d.bytes.data(), d.size));
          d.size = (co_await in.receive_from(d.bytes)).size;
        }
        const double pop_began = cpu_ns();
        for (const datagram_copy& d : wire_) to_.pop(std::span(d.bytes).first(d.size));
        pop_ns += cpu_ns() - pop_began;
      }
      r.push_ns = std::min(r.push_ns, push_ns / each / batch);
      r.pop_ns = std::min(r.pop_ns, pop_ns / each / batch);
    }
    r.arrived = arrived_;
    if (arrived_ != std::uint64_t{10} * each * batch || to_.refused + to_.replayed > 0)
      throw std::runtime_error("a message did not arrive as it was sent");
    co_return r;
  }

 private:
  void keep(packet& p) {
    datagram_copy& d = wire_[next_++];
    d.size = p.wire().size();
    std::ranges::copy(p.wire(), d.bytes.begin());
  }
  void compare(packet& p) { arrived_ += std::ranges::equal(p.message(), message_) ? 1 : 0; }

  channel from_;
  channel to_;
  std::vector<datagram_copy> wire_;
  std::size_t next_ = 0;
  std::vector<std::byte> message_;
  std::uint64_t arrived_ = 0;
};

}  // namespace

heddle::task<std::vector<talk_result>> talk(talk_options o) {
  for (const std::size_t size : o.sizes)
    if (size > message_max)
      throw std::invalid_argument("a message has at most " + std::to_string(message_max) +
                                  " bytes, not " + std::to_string(size));
  talker both(o, make_key());
  std::vector<talk_result> results;
  for (const std::size_t size : o.sizes) results.push_back(co_await both.run(size, o.count));
  co_return results;
}

}  // namespace seccomm
