// SPDX-License-Identifier: MIT
// Simulated wires: a queue of deliveries in virtual time, and the faults of a generator with a
// seed.
#include "heddle/tcp/device_sim.hh"

#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

namespace heddle::tcp {

namespace {

struct sim_packet {
  std::unique_ptr<std::byte[]> memory;
  std::size_t capacity = 0;
  std::size_t bytes = 0;
  packet view;
};

/// Lends packets, and keeps their memory.
class packet_pool final : public packet::home {
 public:
  sim_packet* take(std::size_t bytes) {
    if (free_.empty()) {
      all_.push_back(std::make_unique<sim_packet>());
      free_.push_back(all_.back().get());
    }
    sim_packet* const p = free_.back();
    free_.pop_back();
    if (p->capacity < bytes) {
      p->capacity = std::max<std::size_t>(bytes, 128);
      p->memory = std::make_unique<std::byte[]>(p->capacity);
    }
    p->bytes = bytes;
    return p;
  }
  void open(sim_packet& p) { p.view = packet({p.memory.get(), p.bytes}, *this); }
  void take_back(packet& view) noexcept override {
    // `view` is a member of its packet.
    auto* const at = reinterpret_cast<std::byte*>(&view) - offsetof_view();
    free_.push_back(reinterpret_cast<sim_packet*>(at));
  }
  void give_back(sim_packet* p) { free_.push_back(p); }

 private:
  static std::size_t offsetof_view() noexcept {
    static const sim_packet sample;
    return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&sample.view) -
                                    reinterpret_cast<const std::byte*>(&sample));
  }
  std::vector<std::unique_ptr<sim_packet>> all_;
  std::vector<sim_packet*> free_;
};

struct delivery {
  instant at = 0;
  std::uint64_t order = 0;
  std::size_t to = 0;
  sim_packet* what = nullptr;
};

bool later_delivery(const delivery& a, const delivery& b) noexcept {
  return a.at > b.at || (a.at == b.at && a.order > b.order);
}

}  // namespace

struct device_sim::parts {
  struct wire_end final : network {
    parts* of = nullptr;
    std::size_t number = 0;
    stack* attached = nullptr;
    wire_options wire;
    instant free_at = 0;  // when a wire with a limit has sent its queue
    void transmit(const outgoing& p) noexcept override { of->transmit(*this, p); }
  };

  explicit parts(std::uint64_t s) : seed(s) {}

  std::uint64_t random() noexcept {
    seed += 0x9e3779b97f4a7c15;
    std::uint64_t z = seed;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  bool chance(double p) noexcept {
    return p > 0 && static_cast<double>(random() >> 11) * 0x1p-53 < p;
  }
  void see(std::size_t end, std::span<const std::byte> bytes, fate what) const {
    if (watcher != nullptr) watcher(watcher_context, now, end, bytes, what);
  }
  void push(instant at, std::size_t to, sim_packet* what) {
    queue.push_back({at, ++order, to, what});
    std::push_heap(queue.begin(), queue.end(), later_delivery);
  }

  void transmit(wire_end& from, const outgoing& p) {
    const std::size_t bytes = p.header.size() + p.payload_bytes;
    sim_packet* const made = pool.take(bytes);
    std::byte* at = made->memory.get();
    std::memcpy(at, p.header.data(), p.header.size());
    at += p.header.size();
    for (const auto& piece : p.payload) {
      std::memcpy(at, piece.data(), piece.size());
      at += piece.size();
    }
    const std::span<const std::byte> whole(made->memory.get(), bytes);
    see(from.number, whole, fate::sent);
    const fate what = carry(from, made);
    if (what != fate::delivered) {
      see(from.number, whole, what);
      if (what == fate::too_big) tell_too_big(from, whole);
      pool.give_back(made);
    }
  }

  /// Applies the wire's faults to one packet; `delivered`: it is on its way.
  fate carry(wire_end& from, sim_packet* made) {
    const wire_options& w = from.wire;
    if (w.down) return fate::down;
    if (made->bytes > w.mtu) return fate::too_big;
    if (chance(w.loss)) return fate::lost;
    instant at = now + w.delay_us;
    if (w.bytes_per_second != 0) {
      from.free_at = std::max(from.free_at, now);
      const auto waiting = static_cast<std::uint64_t>(from.free_at - now) * w.bytes_per_second;
      if (waiting / 1'000'000 > w.queue_bytes) return fate::queue_full;
      from.free_at += static_cast<instant>(made->bytes * 1'000'000 / w.bytes_per_second);
      at = from.free_at + w.delay_us;
    }
    if (w.jitter_us != 0) at += static_cast<instant>(random() % (w.jitter_us + 1));
    if (chance(w.reorder)) at += w.reorder_us;
    const std::size_t to = from.number ^ 1;
    if (chance(w.duplicate)) {
      sim_packet* const twin = pool.take(made->bytes);
      std::memcpy(twin->memory.get(), made->memory.get(), made->bytes);
      push(at + static_cast<instant>(random() % 1000), to, twin);
    }
    if (chance(w.corrupt)) {
      const std::uint64_t bit = random() % (made->bytes * 8);
      made->memory[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    }
    push(at, to, made);
    return fate::delivered;
  }

  void tell_too_big(wire_end& from, std::span<const std::byte> whole);

  void deliver(const delivery& d) {
    wire_end& e = ends[d.to];
    see(d.to, {d.what->memory.get(), d.what->bytes}, fate::delivered);
    if (e.attached == nullptr) {
      pool.give_back(d.what);
      return;
    }
    pool.open(*d.what);
    e.attached->input(d.what->view, now);
    d.what->view.release();
    e.attached->flush(now);
  }

  void flush_all() {
    for (wire_end& e : ends)
      if (e.attached != nullptr) e.attached->flush(now);
  }

  [[nodiscard]] instant next() const noexcept {
    instant at = queue.empty() ? never_due : queue.front().at;
    for (const wire_end& e : ends)
      if (e.attached != nullptr) at = std::min(at, e.attached->next_due());
    return at;
  }

  /// Delivers one packet that is due at this time; if none is, runs the timers that are due.
  void run_at(instant at) {
    now = std::max(now, at);
    if (!queue.empty() && queue.front().at <= now) {
      std::pop_heap(queue.begin(), queue.end(), later_delivery);
      const delivery d = queue.back();
      queue.pop_back();
      deliver(d);
      return;
    }
    for (wire_end& e : ends)
      if (e.attached != nullptr && e.attached->next_due() <= now) {
        e.attached->advance(now);
        e.attached->flush(now);
      }
  }

  std::uint64_t seed;
  instant now = 1'000'000;
  std::uint64_t order = 0;
  std::vector<delivery> queue;
  std::deque<wire_end> ends;
  packet_pool pool;
  packet_watcher watcher = nullptr;
  void* watcher_context = nullptr;
};

/// Sends the router's answer, with the start of the packet (RFC 1191, RFC 4443 section 3.2).
void device_sim::parts::tell_too_big(wire_end& from, std::span<const std::byte> whole) {
  const bool v4 = (std::to_integer<unsigned>(whole[0]) >> 4) == 4;
  const std::size_t quoted = std::min<std::size_t>(whole.size(), v4 ? 60 : 100);
  const std::size_t ip = v4 ? 20 : 40;
  sim_packet* const made = pool.take(ip + 8 + quoted);
  std::byte* const p = made->memory.get();
  std::memset(p, 0, ip + 8);
  std::byte* const icmp = p + ip;
  std::memcpy(icmp + 8, whole.data(), quoted);
  checksum sum;
  if (v4) {
    p[0] = std::byte{0x45};
    put16(p + 2, static_cast<std::uint32_t>(made->bytes));
    p[8] = std::byte{64};
    p[9] = std::byte{protocol_icmp};
    std::memcpy(p + 12, ip_address::v4(10, 255, 255, 254).bytes.data() + 12, 4);
    std::memcpy(p + 16, whole.data() + 12, 4);
    checksum head;
    head.add({p, 20});
    put16(p + 10, head.value());
    icmp[0] = std::byte{3};
    icmp[1] = std::byte{4};
    put16(icmp + 6, from.wire.mtu);
  } else {
    p[0] = std::byte{0x60};
    put16(p + 4, static_cast<std::uint32_t>(8 + quoted));
    p[6] = std::byte{protocol_icmp6};
    p[7] = std::byte{64};
    p[8] = std::byte{0xfd};
    p[23] = std::byte{0xfe};
    std::memcpy(p + 24, whole.data() + 8, 16);
    icmp[0] = std::byte{2};
    put32(icmp + 4, from.wire.mtu);
    ip_address source, destination;
    std::memcpy(source.bytes.data(), p + 8, 16);
    std::memcpy(destination.bytes.data(), p + 24, 16);
    sum.add_pseudo(source, destination, protocol_icmp6, static_cast<std::uint32_t>(8 + quoted));
  }
  sum.add({icmp, 8 + quoted});
  put16(icmp + 2, sum.value());
  push(now + from.wire.delay_us, from.number, made);
}

device_sim::device_sim(std::uint64_t seed) : parts_(std::make_unique<parts>(seed)) {}
device_sim::~device_sim() = default;

std::size_t device_sim::join(const wire_options& both_ways) {
  const std::size_t first = parts_->ends.size();
  for (std::size_t n = first; n < first + 2; ++n) {
    parts::wire_end& e = parts_->ends.emplace_back();
    e.of = parts_.get();
    e.number = n;
    e.wire = both_ways;
  }
  return first;
}

network& device_sim::end(std::size_t number) { return parts_->ends[number]; }
void device_sim::attach(std::size_t number, stack& s) { parts_->ends[number].attached = &s; }
wire_options& device_sim::wire(std::size_t from) { return parts_->ends[from].wire; }

void device_sim::watch(packet_watcher watcher, void* context) noexcept {
  parts_->watcher = watcher;
  parts_->watcher_context = context;
}

void device_sim::inject(std::size_t number, std::span<const std::byte> bytes) {
  sim_packet* const made = parts_->pool.take(bytes.size());
  std::memcpy(made->memory.get(), bytes.data(), bytes.size());
  parts_->deliver({parts_->now, 0, number, made});
}

instant device_sim::now() const noexcept { return parts_->now; }
instant device_sim::next_due() const noexcept { return parts_->next(); }

bool device_sim::step() {
  parts_->flush_all();
  const instant at = parts_->next();
  if (at == never_due) return false;
  parts_->run_at(at);
  return true;
}

void device_sim::run_until(instant until) {
  parts_->flush_all();
  for (instant at = parts_->next(); at <= until; at = parts_->next()) parts_->run_at(at);
  parts_->now = std::max(parts_->now, until);
}

bool device_sim::run(instant at_most) {
  parts_->flush_all();
  for (;;) {
    const instant at = parts_->next();
    if (at == never_due) return true;
    if (at > at_most) return false;
    parts_->run_at(at);
  }
}

std::uint64_t device_sim::random() noexcept { return parts_->random(); }

}  // namespace heddle::tcp
