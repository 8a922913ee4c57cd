// SPDX-License-Identifier: MIT
// The RPC servers of one address: each listens in its own color with SO_REUSEPORT, and the kernel
// spreads connections over them.
#include "service.hh"

#include <algorithm>

#include "heddle/core/enter.hh"
#include "heddle/core/scope.hh"

namespace nfs {

using heddle::address;
using heddle::task;

namespace {
constexpr std::uint64_t first_color_of_servers = 0x6e66735276720000;  // "nfsRvr"
}

service::service(volume& of, const export_list& exports, service_options options)
    : options_(options),
      procedures_(of, exports, options.procedures),
      mounts_(of, exports, options.mounts) {
  parts_.reserve(std::max(options.servers, 1u) + 1);  // and the port mapper
  for (unsigned i = 0; i < std::max(options.servers, 1u); ++i) {
    auto made = std::make_unique<heddle::rpc::server>(options.connections);
    procedures_.add_to(*made);
    mounts_.add_to(*made);
    parts_.push_back({heddle::color(first_color_of_servers + i), std::move(made), {}});
  }
}

task<address> service::open(part& p, address at, bool shared) {
  co_await heddle::enter(p.color);
  p.door = heddle::tcp_listener::listen(at, {.reuse_port = shared});
  co_return p.door.local();
}

task<address> service::listen(address at) {
  const bool shared = parts_.size() > 1;
  for (part& p : parts_) at = co_await open(p, at, shared);
  mapper_.set(nfs3::NFS_V3::GETATTR::program, nfs3::NFS_V3::GETATTR::version, at.port());
  mapper_.set(mount3::MOUNT_V3::MNT::program, mount3::MOUNT_V3::MNT::version, at.port());
  co_return at;
}

task<> service::listen_as_port_mapper(address at) {
  auto made = std::make_unique<heddle::rpc::server>(options_.connections);
  mapper_.add_to(*made);
  const heddle::color own(first_color_of_servers + parts_.size());
  parts_.push_back({own, std::move(made), {}});
  static_cast<void>(co_await open(parts_.back(), at, false));
}

task<> service::run(part& p) { co_await p.server->serve(std::move(p.door)); }

task<> service::serve() {
  heddle::scope all;
  for (part& p : parts_) all.spawn(p.color, &service::run, std::ref(p));
  co_await all.join();
}

task<> service::end(part& p) {
  co_await heddle::enter(p.color);
  p.server->stop();
}

task<> service::stop() {
  for (part& p : parts_) co_await end(p);
}

heddle::rpc::server_counters service::counters() const noexcept {
  heddle::rpc::server_counters sum;
  for (const part& p : parts_) {
    const heddle::rpc::server_counters& c = p.server->counters();
    sum.connections += c.connections;
    sum.open += c.open;
    sum.refused_connections += c.refused_connections;
    sum.calls += c.calls;
    sum.refused += c.refused;
    sum.broken += c.broken;
  }
  return sum;
}

}  // namespace nfs
