// SPDX-License-Identifier: MIT
// Chooses a program's TCP: the kernel's sockets, or TCP in the program over a TUN device. One line
// makes the choice; functions that take a stream or a listener accept those of either provider.
//
//   net::provider net = net::kernel();
//   net::provider net = net::user({.device = "tun0", .address = "10.9.0.2/24"});
//   net::provider net = net::from_environment();  // HEDDLE_NET=user:tun0,10.9.0.2/24
//
//   co_await http::serve(net.listen(address::any(8000)).door, handler);
//   stream peer = co_await net.connect(*address::parse("10.9.0.1:7"));
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "heddle/core/task.hh"
#include "heddle/io/listener.hh"
#include "heddle/io/tcp_source.hh"
#include "heddle/tcp/options.hh"
#include "heddle/tcp/stack.hh"

namespace heddle::net {

namespace detail {
class host;
class pump;
struct provider_parts;
}  // namespace detail

using heddle::opened_door;

/// Thread: one color, which also destroys it. A program with several workers makes one in the color
/// of each worker, all before the first packet arrives, because another queue of the device changes
/// the steering of packets.
/// Owns: with its copies, streams and listeners, the stack and the queue of the device.
/// Cancel: waits of its streams and listeners can be cancelled, like those of any stream or
///   listener.
/// Fails: user() throws failure, with the commands that help; all other calls fail as those of
///   sockets.
class provider {
 public:
  /// A provider of the kernel's TCP.
  provider() noexcept = default;

  /// Port 0 takes a free port. With user() only the port counts: the stack has one address.
  [[nodiscard]] opened_door listen(const address& on, const listen_options& options = {}) const;
  /// With user(), a loopback address, and the stack's own, lead to the program's own listener at
  /// that port, without packets; else a loopback address leads to the kernel's.
  [[nodiscard]] task<stream> connect(address to) const;
  /// Before the program ends: waits until the peers have acknowledged what closed streams have
  /// written. Streams that are open are waited for, too: bound it by with_timeout(). The kernel
  /// does this by itself.
  [[nodiscard]] task<> settled() const;

  [[nodiscard]] bool is_user() const noexcept { return host_ != nullptr; }
  /// The stack, to set a filter or read its counters; null for the kernel.
  [[nodiscard]] tcp::stack* stack() const noexcept;

 private:
  friend struct detail::provider_parts;
  std::shared_ptr<detail::host> host_;  // null: the kernel
  detail::pump* pump_ = nullptr;
};

[[nodiscard]] inline provider kernel() noexcept { return {}; }

/// The device must exist and be up: `heddle doctor` tells the commands. With several workers it
/// must have been made with `multi_queue`.
struct user_options {
  std::string device = "tun0";
  /// Own address, as "10.9.0.2/24" or "fd09::2/64". The other addresses of that network are the
  /// kernel's or behind it.
  std::string address = "10.9.0.2/24";
  /// The kernel gives and takes packets of up to 64 KB, and computes checksums.
  bool offloads = true;
  /// A file that gets the packets, as pcap, with notes of the stack (tcp/pcap.hh); empty: none.
  /// Files are written without waiting for the disk, but the disk may still hold up the worker.
  std::string trace = {};
  /// The trace ends at this size.
  std::uint64_t trace_bytes_max = std::uint64_t{256} << 20;
  /// The limits of the stack. Its key is chosen at random, its mtu is the device's.
  tcp::stack_options stack = {};
};

/// TCP in the program. Thread: call it in a running runtime.
[[nodiscard]] provider user(const user_options& options);

/// The first need of user() that is not met here, and the commands that help; both are empty if
/// user() would work.
struct user_check {
  std::string trouble;
  std::string commands;
};
[[nodiscard]] user_check check_user(const std::string& device, const std::string& own_address);

/// The reason for which an own address, as "10.9.0.2/24", cannot be used; empty if it can. A host
/// cannot have a network, broadcast, multicast or loopback address.
[[nodiscard]] std::string address_trouble(std::string_view own_address);

/// The provider that a text names: "kernel", or "user:DEVICE,ADDRESS" with more parts behind
/// commas, for example "user:tun0,10.9.0.2/24,trace=packets.pcap" (net/choice.hh). Worker N > 0
/// appends ".N" to the name of the trace. Fails as user() does, and with invalid_argument if the
/// text is wrong.
[[nodiscard]] provider by_name(std::string_view text);
/// The provider that the environment names in HEDDLE_NET, as by_name() reads it; without that, the
/// kernel. So one variable switches a program that takes its listeners from here.
[[nodiscard]] provider from_environment();
/// The provider as a source, for clients and proxies (client_options::tcp, proxy_options::tcp) and
/// for runtime_options::tcp. Null for the kernel's.
[[nodiscard]] std::unique_ptr<tcp_source> source_of(provider from);

/// Whether the kernel sends to the device. The kernel begins up to a second after the first queue
/// was opened, and drops packets before. Servers wait for this before they print their address.
[[nodiscard]] bool device_runs(const std::string& device);

}  // namespace heddle::net
