// SPDX-License-Identifier: MIT
// TCP in the program over a TUN device: one function reads the queue, the pump sends.
#include <poll.h>

#include <utility>

#include "heddle/core/deadline.hh"
#include "heddle/core/yield.hh"
#include "heddle/io/call.hh"
#include "heddle/sched/detail/here.hh"
#include "net/packet_trace.hh"
#include "net/provider_parts.hh"
#include "net/tun.hh"

namespace heddle::net {
namespace detail {
namespace {

// Packets that are read in a row before other tasks run.
constexpr int batch_max = 64;

class tun_pump final : public pump {
 public:
  tun_pump(const user_options& o, const tcp::ip_address& own)
      : queue_(o.device, o.offloads), host_(options_of(o), queue_, own, *this) {
    driver_here().adopt(queue_.number());
    if (o.trace.empty()) return;
    trace_ = std::make_unique<packet_trace>(o.trace, o.trace_bytes_max);
    queue_.set_trace(trace_.get());
    host_.stack().set_watcher(&packet_trace::note, trace_.get());
  }
  tun_pump(const tun_pump&) = delete;
  tun_pump& operator=(const tun_pump&) = delete;
  ~tun_pump() override { driver_here().close(queue_.release(), worker::here()); }

  [[nodiscard]] host& own_host() noexcept { return host_; }
  static task<> read(std::shared_ptr<tun_pump> self) {
    static_cast<void>(co_await as_expected(with_cancel(self->stop_, self->read_packets())));
  }

 private:
  [[nodiscard]] tcp::stack_options options_of(const user_options& o) const {
    tcp::stack_options made = o.stack;
    made.key = random_key();
    made.mtu = queue_.mtu();
    made.partial_checksums = queue_.offloads();
    return made;
  }

  task<> read_packets() {
    for (;;) {
      int count = 0;
      const tcp::instant at = now();
      while (count != batch_max && queue_.read_into(host_.stack(), at)) ++count;
      if (count != 0) {
        stir();
        co_await yield();
      } else {
        one_operation packet(op_code::poll, queue_.number(), "packet");
        packet.flags = POLLIN;
        const awaiting_packet noted(*this);
        const std::int64_t found = co_await packet;
        if (found < 0) throw failure(kernel_error(static_cast<int>(found)));
      }
    }
  }
  /// While nothing uses the stack, its wait for packets does not keep the runtime going.
  void note_background() noexcept {
    const bool unused = awaiting_packet_ && host_.is_unused();
    if (unused == std::exchange(in_background_, unused)) return;
    runtime::here().add_background(unused ? 1 : -1);
  }
  struct awaiting_packet {
    explicit awaiting_packet(tun_pump& p) noexcept : of(p) { set(true); }
    awaiting_packet(const awaiting_packet&) = delete;
    awaiting_packet& operator=(const awaiting_packet&) = delete;
    ~awaiting_packet() { set(false); }
    void set(bool waits) const noexcept {
      of.awaiting_packet_ = waits;
      of.note_background();
    }
    tun_pump& of;
  };
  void turn(tcp::instant now) override {
    if (trace_) trace_->at(now);
    host_.stack().advance(now);
    queue_.begin_joining();
    host_.stack().flush(now);
    queue_.end_joining();
    note_background();
  }
  [[nodiscard]] tcp::instant next_due() const override { return host_.stack().next_due(); }
  [[nodiscard]] bool is_idle() const override { return host_.stack().connection_count() == 0; }
  void ended() noexcept override { stop_.cancel(); }

  tun_queue queue_;
  std::unique_ptr<packet_trace> trace_;  // after the queue that fills it, before the stack
  host host_;
  cancel_source stop_;
  bool awaiting_packet_ = false;
  bool in_background_ = false;
};

}  // namespace
}  // namespace detail

provider user(const user_options& options) {
  if (const std::string trouble = address_trouble(options.address); !trouble.empty())
    throw failure(std::make_error_code(std::errc::invalid_argument), trouble);
  const auto own = tcp::ip_address::parse(options.address.substr(0, options.address.find('/')));
  const user_check found = check_user(options.device, options.address);
  if (!found.trouble.empty())
    throw failure(
        std::make_error_code(std::errc::no_such_device),
        found.trouble + (found.commands.empty() ? "" : "; do:\n" + found.commands + "\n"));
  if (driver_here().simulated())
    throw failure(std::make_error_code(std::errc::operation_not_supported),
                  "the simulation has no TUN device; use net::simulated");
  const auto made = std::make_shared<detail::tun_pump>(options, *own);
  runtime::here().spawn(detail::tun_pump::read(made));
  const auto held = detail::pump::start(made);
  return detail::provider_parts::of({held, &held->own_host()}, *held);
}

}  // namespace heddle::net
