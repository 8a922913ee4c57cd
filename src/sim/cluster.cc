// SPDX-License-Identifier: MIT
// Nodes, and what a test does to them. cluster_run.cc has the loop.
#include "heddle/sim/cluster.hh"

#include <arpa/inet.h>

#include <algorithm>

#include "heddle/base/error.hh"
#include "sim/process.hh"
#include "sim/troubles.hh"

namespace heddle::sim {

namespace {

constexpr const char* name_letters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

[[noreturn]] void refuse(const std::string& why) {
  throw failure(std::make_error_code(std::errc::invalid_argument), why);
}

address numeric(const std::string& text) {
  ::sockaddr_in four{};
  ::sockaddr_in6 six{};
  four.sin_family = AF_INET;
  six.sin6_family = AF_INET6;
  const void* at = nullptr;
  unsigned len = 0;
  if (::inet_pton(AF_INET, text.c_str(), &four.sin_addr) == 1) {
    at = &four;
    len = sizeof four;
  } else if (::inet_pton(AF_INET6, text.c_str(), &six.sin6_addr) == 1) {
    at = &six;
    len = sizeof six;
  }
  address out;
  if (at == nullptr || address::parse(static_cast<const ::sockaddr*>(at), len, out) != 0)
    refuse("node_options::addresses: '" + text + "' is no address of IPv4 or IPv6");
  if (out.wildcard() || out.on_loopback())
    refuse("node_options::addresses: '" + text + "' is not an address that others can reach");
  return out;
}

}  // namespace

node::node(cluster& home, node_options options, computer& place)
    : home_(home), options_(std::move(options)), place_(place) {}
node::~node() = default;

bool node::running() const noexcept {
  return driver_ != nullptr && !place_.processes.back()->is_cut();
}
sim_driver& node::driver() noexcept {
  HEDDLE_ASSERT(running(), "the node does not run: its driver comes with cluster::run()");
  return *driver_;
}
void node::write_file(std::string_view path, std::string_view content) {
  place_.files.plant(path, inode::kind::file, content);
}
std::map<std::string, std::string> node::files() const { return place_.files.list(false); }
std::map<std::string, std::string> node::durable_files() const { return place_.files.list(true); }

cluster::cluster(cluster_options options) : options_(std::move(options)) {
  if (options_.replay) options_.world.seed = options_.replay->seed;
  world_ = std::make_shared<world>(options_.world);
  if (options_.replay) follow(*options_.replay, *world_);
}

cluster::~cluster() {
  for (const auto& n : nodes_) {
    n->start_asked_ = false;
    if (n->driver_ != nullptr) n->place_.processes.back()->cut(death::process);
  }
  for (const auto& n : nodes_) bury(*n);
}

node& cluster::add(node_options options) {
  if (nodes_.size() == options_.nodes_max)
    refuse("a cluster has at most cluster_options::nodes_max nodes (" +
           std::to_string(options_.nodes_max) + ")");
  const bool plain = options.name.find_first_not_of(name_letters) == std::string::npos;
  if (options.name.empty() || !plain || find(options.name) != nullptr)
    refuse(
        "node_options::name: each node needs a name of its own, of letters, digits, '-', '_' "
        "and '.'; '" +
        options.name + "' is none");
  if (!options.program) refuse("node_options::program: " + options.name + " has none");
  if (options.memory_bytes > options_.memory_bytes_max - memory_bytes_)
    refuse("node_options::memory_bytes: with " + options.name +
           " all nodes have more than cluster_options::memory_bytes_max (" +
           std::to_string(options_.memory_bytes_max) + " bytes)");
  if (options.addresses.empty())
    options.addresses = {"10.0.0." + std::to_string(nodes_.size() + 1)};
  std::vector<address> addresses;
  for (const std::string& text : options.addresses) {
    addresses.push_back(numeric(text));
    for (const auto& other : nodes_)
      if (other->place_.has(addresses.back()))
        refuse("node_options::addresses: " + text + " is the address of " + other->name());
  }
  const local_clock clock(options_.world.start, options.clock_offset, options.clock_rate);
  computer& place = world_->add_computer(options.name);
  place.addresses = std::move(addresses);
  place.clock = clock;
  memory_bytes_ += options.memory_bytes;
  set_host(options.name, options.addresses);
  return *nodes_.emplace_back(new node(*this, std::move(options), place));
}

node* cluster::find(std::string_view name) noexcept {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(),
                                  [name](const auto& n) { return n->name() == name; });
  return found == nodes_.end() ? nullptr : found->get();
}

void cluster::partition(node& from, node& to) {
  if (&from == &to) return;
  world_->log.add({world_->time(), from.place_.number}, trace_kind::cut, 0, op_code::poll, -1,
                  to.place_.number);
  world_->between.cut(from.place_, to.place_);
}
void cluster::partition(std::span<node* const> from, std::span<node* const> to) {
  for (node* const one : from)
    for (node* const other : to) partition(*one, *other);
}
void cluster::heal(node& from, node& to) {
  if (!world_->between.is_cut(from.place_, to.place_)) return;
  world_->log.add({world_->time(), from.place_.number}, trace_kind::heal, 0, op_code::poll, -1,
                  to.place_.number);
  world_->between.heal(from.place_, to.place_);
}
void cluster::heal() {
  for (const auto& from : nodes_)
    for (const auto& to : nodes_) heal(*from, *to);
}
void cluster::set_link(node& one, node& other, sim_link link) {
  world_->between.set(one.place_, other.place_, link);
}
void cluster::set_host(std::string name, std::vector<std::string> addresses, nanoseconds delay) {
  world_->net.hosts[std::move(name)] = {std::move(addresses), delay};
}

void cluster::kill(node& n, death how) {
  kill(n, how, world_->stream(n.name() + ".disk" + std::to_string(n.starts_)).next());
}
void cluster::kill(node& n, death how, std::uint64_t keep) {
  n.start_asked_ = false;
  if (!n.running()) return;
  n.place_.processes.back()->cut(how);
  if (how != death::power) return;
  random_stream kept(keep, 'd');
  n.place_.files.crash(&kept);
}
void cluster::restart(node& n) {
  if (!n.running()) n.start_asked_ = true;
}
void cluster::pause(node& n, nanoseconds span) {
  const time_point until = add_saturated(world_->time(), span);
  if (until <= n.paused_until_) return;
  n.paused_until_ = until;
  world_->log.add({world_->time(), n.place_.number}, trace_kind::pause, 0, op_code::poll, -1,
                  span.count());
  world_->at(until, [] {});  // so that the loop looks again
}
void cluster::jump_clock(node& n, nanoseconds span) {
  n.place_.wall_jumps += span;
  world_->log.add({world_->time(), n.place_.number}, trace_kind::clock, 0, op_code::poll, -1,
                  span.count());
}

void cluster::at(nanoseconds when, std::function<void()> what) {
  world_->at(add_saturated(options_.world.start, when), std::move(what));
}
nanoseconds cluster::time() const noexcept { return world_->time() - options_.world.start; }

std::uint64_t cluster::trace_hash() const noexcept { return world_->log.hash(); }
std::string cluster::trace_text(const node* only) const {
  return world_->log.text(only == nullptr ? std::nullopt : std::optional(only->place_.number));
}
void cluster::note(std::string_view text) { world_->log.note({world_->time(), 0}, text); }

}  // namespace heddle::sim
