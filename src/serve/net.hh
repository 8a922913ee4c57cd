// SPDX-License-Identifier: MIT
// --net of `heddle serve`: the kernel's TCP, or TCP in the program over a TUN device.
#pragma once

#include <string>
#include <string_view>

#include "heddle/io/address.hh"
#include "heddle/net/provider.hh"
#include "heddle/web/metrics.hh"
#include "serve/options.hh"

namespace heddle::serve {

/// Reads "kernel" or "user:tun0,10.9.0.2/24", with more settings behind commas. Throws bad_setting.
void set_net(serve_options& o, std::string_view text);

/// The bound that all workers' stacks share, or null.
[[nodiscard]] std::shared_ptr<tcp::memory_budget> process_memory_of(const serve_options& o);

/// The provider of one worker, counted from 0; each has a trace of its own. Fails: failure, with
/// the commands that make the device.
[[nodiscard]] net::provider provider_of(const serve_options& o, std::size_t worker,
                                        std::shared_ptr<tcp::memory_budget> process);

/// The address and port that all workers listen on with TCP in the program.
[[nodiscard]] address user_address(const serve_options& o);

/// The counters of all workers' stacks, added.
struct stack_totals {
  tcp::stack_counters counters;
  std::uint64_t connections = 0;
  std::uint64_t memory = 0;
  std::uint64_t stacks = 0;  ///< 0: the kernel's TCP

  stack_totals& operator+=(const stack_totals& other);
};
[[nodiscard]] stack_totals totals_of(const net::provider& p);
void show(const stack_totals& t, http::metrics_page& page);

/// Whether an address is one of this machine's.
[[nodiscard]] bool is_own_address(const address& a);

}  // namespace heddle::serve
