// SPDX-License-Identifier: MIT
// Two hosts on a simulated wire, moved by one pump.
#include "heddle/net/simulated.hh"

#include "net/provider_parts.hh"

namespace heddle::net {
namespace detail {
namespace {

tcp::stack_options keyed(tcp::stack_options o, tcp::device_sim& sim) {
  if (o.key[0] == 0 && o.key[1] == 0) o.key = {sim.random(), sim.random()};
  return o;
}

class wire_pump final : public pump {
 public:
  explicit wire_pump(const simulated_options& o)
      : sim_(o.seed),
        first_(sim_.join(o.wire)),
        client_(keyed(o.client, sim_), sim_.end(first_), tcp::ip_address::v4(10, 9, 0, 1), *this),
        server_(keyed(o.server, sim_), sim_.end(first_ + 1), tcp::ip_address::v4(10, 9, 0, 2),
                *this) {
    sim_.run_until(now());
    sim_.attach(first_, client_.stack());
    sim_.attach(first_ + 1, server_.stack());
  }

  [[nodiscard]] host& client() noexcept { return client_; }
  [[nodiscard]] host& server() noexcept { return server_; }
  [[nodiscard]] tcp::device_sim& sim() noexcept { return sim_; }
  [[nodiscard]] bool is_beside_kernel() const noexcept override { return false; }

 private:
  void turn(tcp::instant now) override { sim_.run_until(now); }
  [[nodiscard]] tcp::instant next_due() const override { return sim_.next_due(); }
  [[nodiscard]] bool is_idle() const override {
    return client_.stack().connection_count() == 0 && server_.stack().connection_count() == 0;
  }

  tcp::device_sim sim_;
  std::size_t first_;
  host client_;
  host server_;
};

}  // namespace
}  // namespace detail

simulated::simulated(const simulated_options& options) {
  const auto made = detail::pump::start(std::make_shared<detail::wire_pump>(options));
  client_ = detail::provider_parts::of({made, &made->client()}, *made);
  server_ = detail::provider_parts::of({made, &made->server()}, *made);
  sim_ = {made, &made->sim()};
}

tcp::wire_options& simulated::from_client() const { return sim_->wire(0); }
tcp::wire_options& simulated::from_server() const { return sim_->wire(1); }
void simulated::watch(tcp::packet_watcher watcher, void* context) const noexcept {
  sim_->watch(watcher, context);
}

}  // namespace heddle::net
