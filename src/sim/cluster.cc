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

/// Reads a numeric address; nothing if it is none.
std::optional<address> parsed(const std::string& text) {
  ::sockaddr_in four{};
  ::sockaddr_in6 six{};
  four.sin_family = AF_INET;
  six.sin6_family = AF_INET6;
  const void* at = nullptr;
  unsigned len = 0;
  if (::inet_pton(AF_INET, text.c_str(), &four.sin_addr) == 1) {
    at = &four;
    len = sizeof four;
  } else if (::inet_pton(AF_INET6, text.c_str(), &six.sin6_addr) == 1 &&
             IN6_IS_ADDR_V4MAPPED(&six.sin6_addr) == 0) {
    at = &six;
    len = sizeof six;
  }
  address out;
  if (at == nullptr || address::parse(static_cast<const ::sockaddr*>(at), len, out) != 0)
    return std::nullopt;
  return out;
}

address own_address(const std::string& text) {
  const std::optional<address> read = parsed(text);
  if (!read) refuse("node_options::addresses: '" + text + "' is no address of IPv4 or IPv6");
  if (read->wildcard() || read->on_loopback())
    refuse("node_options::addresses: '" + text + "' is not an address that others can reach");
  return *read;
}

void check_link(const sim_link& link, const char* what) {
  if (link.latency.count() < 0 || link.jitter.count() < 0)
    refuse(std::string(what) + ": latency and jitter of a link are not negative");
  if (!(link.loss >= 0 && link.loss <= 1))
    refuse(std::string(what) + ": the loss of a link is a probability from 0 to 1");
}

void check_world(const sim_options& o) {
  check_link(o.link, "cluster_options::world.link");
  check_link(o.slow_link, "cluster_options::world.slow_link");
  const sim_rates& r = o.faults;
  for (const double rate : {r.short_transfer, r.interrupted, r.reset, r.no_memory, r.no_descriptors,
                            r.io_error, r.delayed, o.inline_rate, o.slow_links})
    if (!(rate >= 0 && rate <= 1))
      refuse(
          "cluster_options::world: the rates of faults, inline_rate and slow_links are from 0 to "
          "1");
  if (o.disk_delay_max.count() < 0 || o.cancel_delay_max.count() < 0 ||
      o.fault_delay_max.count() < 0)
    refuse(
        "cluster_options::world: disk_delay_max, cancel_delay_max, fault_delay_max are not "
        "negative");
  if (o.clock_step.count() < 0) refuse("cluster_options::world.clock_step: it is not negative");
  if (o.socket_buffer_bytes == 0) refuse("cluster_options::world.socket_buffer_bytes: at least 1");
}

/// Refuses a path at which no file can be put: folders are made, but nothing else becomes one.
void check_planted(const disk& files, std::string_view path) {
  const std::string what = "write_file: '" + std::string(path) + "' ";
  if (!path.starts_with('/')) refuse(what + "is no absolute path");
  inode_ptr at = files.root();
  bool is_named = false;
  for (std::string_view rest = path.substr(1); !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    if (name.empty()) continue;
    if (name == "." || name == "..") refuse(what + "has a '.' or '..' in it");
    is_named = true;
    if (at == nullptr) continue;
    if (at->what != inode::kind::directory) refuse(what + "leads through a file");
    const auto found = at->names.find(name);
    at = found == at->names.end() ? nullptr : found->second;
  }
  if (!is_named || (at != nullptr && at->what == inode::kind::directory))
    refuse(what + "is a folder");
}

constexpr std::size_t memory_bytes_min = std::size_t{1} << 20;
constexpr nanoseconds clock_offset_max = std::chrono::hours(24 * 365 * 30);

}  // namespace

node::node(cluster& home, node_options options, computer& place)
    : home_(home), options_(std::move(options)), place_(place) {}
node::~node() = default;

bool node::running() const noexcept { return driver_ != nullptr && !place_.last->is_cut(); }
sim_driver& node::driver() noexcept {
  HEDDLE_ASSERT(driver_ != nullptr, "the node does not run: its driver comes with cluster::run()");
  return *driver_;
}
void node::write_file(std::string_view path, std::string_view content) {
  if (home_.unwinding_) return;
  check_planted(place_.files, path);
  place_.files.plant(path, inode::kind::file, content);
}
std::map<std::string, std::string> node::files() const { return place_.files.list(false); }
std::map<std::string, std::string> node::durable_files() const { return place_.files.list(true); }

cluster::cluster() : cluster(cluster_options()) {}

cluster::cluster(cluster_options options) : options_(std::move(options)) {
  check_world(options_.world);
  if (options_.trouble.count_max != 0 && options_.trouble.until.count() <= 0)
    refuse("cluster_options::trouble.until: troubles need time");
  if (options_.time_max.count() <= 0) refuse("cluster_options::time_max: a run needs time");
  if (options_.replay) options_.world.seed = options_.replay->seed;
  world_ = std::make_shared<world>(options_.world);
  if (options_.replay) follow(*options_.replay, *world_);
}

cluster::~cluster() {
  if (options_.at_end) options_.at_end(*this);
  for (const auto& n : nodes_) {
    n->start_asked_ = false;
    if (n->driver_ != nullptr) n->place_.last->cut(death::process);
  }
  for (const auto& n : nodes_) bury(*n);
}

node& cluster::add(node_options options) {
  if (nodes_.size() == options_.nodes_max)
    refuse("a cluster has at most cluster_options::nodes_max nodes (" +
           std::to_string(options_.nodes_max) + ")");
  const bool plain = options.name.find_first_not_of(name_letters) == std::string::npos;
  const bool taken = find(options.name) != nullptr || options.name == "localhost" ||
                     parsed(options.name).has_value();
  if (options.name.empty() || !plain || taken)
    refuse(
        "node_options::name: each node needs a name of its own, of letters, digits, '-', '_' "
        "and '.'; '" +
        options.name + "' is none");
  if (!options.program) refuse("node_options::program: " + options.name + " has none");
  if (options.memory_bytes < memory_bytes_min)
    refuse("node_options::memory_bytes: " + options.name + " needs at least 1 MiB");
  if (options.clock_offset > clock_offset_max || options.clock_offset < -clock_offset_max)
    refuse("node_options::clock_offset: it may be up to 30 years");
  if (options.memory_bytes > options_.memory_bytes_max - memory_bytes_)
    refuse("node_options::memory_bytes: with " + options.name +
           " all nodes have more than cluster_options::memory_bytes_max (" +
           std::to_string(options_.memory_bytes_max) + " bytes)");
  if (options.addresses.empty())
    options.addresses = {"10.0.0." + std::to_string(nodes_.size() + 1)};
  std::vector<address> addresses;
  for (const std::string& text : options.addresses) {
    const address own = own_address(text);
    if (std::find(addresses.begin(), addresses.end(), own) != addresses.end())
      refuse("node_options::addresses: " + text + " is given twice");
    addresses.push_back(own);
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

/// Refuses a node of another cluster.
void cluster::check(const node& n) const {
  HEDDLE_ASSERT(&n.home_ == this, "give a cluster its own nodes");
}

void cluster::partition(node& from, node& to) {
  check(from);
  check(to);
  if (&from != &to && !unwinding_) world_->cut(from.place_, to.place_);
}
void cluster::partition(std::span<node* const> from, std::span<node* const> to) {
  for (node* const one : from)
    for (node* const other : to) partition(*one, *other);
}
void cluster::heal(node& from, node& to) {
  check(from);
  check(to);
  if (!unwinding_) world_->heal(from.place_, to.place_);
}
void cluster::heal() {
  for (const auto& from : nodes_)
    for (const auto& to : nodes_) heal(*from, *to);
}
void cluster::set_link(node& one, node& other, sim_link link) {
  check(one);
  check(other);
  check_link(link, "set_link");
  if (!unwinding_) world_->between.set(one.place_.number, other.place_.number, link);
}
void cluster::set_host(std::string name, std::vector<std::string> addresses, nanoseconds delay) {
  if (name == "localhost") refuse("set_host: localhost is each node's own");
  for (const std::string& text : addresses)
    if (!parsed(text)) refuse("set_host: '" + text + "' is no address of IPv4 or IPv6");
  if (!unwinding_) world_->net.hosts[std::move(name)] = {std::move(addresses), delay};
}

void cluster::kill(node& n, death how) {
  kill(n, how, world_->stream(n.name() + ".disk" + std::to_string(n.starts_)).next());
}
void cluster::kill(node& n, death how, std::uint64_t keep) {
  check(n);
  if (unwinding_) return;
  n.start_asked_ = false;
  n.paused_until_ = time_point::min();
  if (n.running()) n.place_.last->cut(how);
  if (how != death::power) return;
  random_stream kept(keep, 'd');
  n.place_.files.crash(&kept);
}
void cluster::restart(node& n) {
  check(n);
  if (!n.running() && !unwinding_) n.start_asked_ = true;
}
void cluster::pause(node& n, nanoseconds span) {
  check(n);
  if (span.count() < 0) refuse("pause: a time is not negative");
  const time_point until = add_saturated(world_->time(), span);
  if (until <= n.paused_until_ || !n.running() || unwinding_) return;
  n.paused_until_ = until;
  world_->record(trace_kind::pause, n.place_.number, span.count());
  world_->at(until, [] {});  // so that the loop looks again
}
void cluster::jump_clock(node& n, nanoseconds span) {
  check(n);
  if (unwinding_) return;
  n.place_.wall_jumps += span;
  world_->record(trace_kind::clock, n.place_.number, span.count());
}

void cluster::at(nanoseconds when, std::function<void()> what) {
  if (unwinding_) return;
  world_->at(add_saturated(options_.world.start, when), std::move(what));
}
nanoseconds cluster::time() const noexcept { return world_->time() - options_.world.start; }

std::uint64_t cluster::trace_hash() const noexcept { return world_->log.hash(); }
std::string cluster::trace_text(const node* only) const {
  return world_->log.text(only == nullptr ? std::nullopt : std::optional(only->place_.number));
}
void cluster::note(std::string_view text) {
  if (!unwinding_) world_->log.note({world_->time(), 0}, text);
}

}  // namespace heddle::sim
