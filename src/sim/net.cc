// SPDX-License-Identifier: MIT
// Claims on addresses, and links. See net.hh.
#include "sim/net.hh"

#include <algorithm>
#include <cerrno>

#include "sim/computer.hh"
#include "sim/object.hh"

namespace heddle::sim {

int network::claim(object& o, bool stream, bool shared, address& name) {
  if (name.family() != AF_UNIX && name.port() == 0) name.set_port(free_port(stream));
  const computer& here = o.here;
  const bool anywhere = name.family() == AF_UNIX || name.wildcard() || name.on_loopback();
  if (!anywhere && !here.has(name)) return -EADDRNOTAVAIL;
  for (const claimed& c : claims_) {
    if (c.stream != stream || c.on != &here) continue;
    if (!reaches(c.name, name) && !reaches(name, c.name)) continue;
    if (!(c.shared && shared)) return -EADDRINUSE;
  }
  claims_.push_back({name, o.weak_from_this(), &o, &here, stream, shared});
  return 0;
}

void network::release(object& o) {
  std::erase_if(claims_, [&](const claimed& c) { return c.whose == &o; });
}

std::shared_ptr<object> network::owner(bool stream, computer& on, const address& to) {
  std::vector<std::shared_ptr<object>> found;
  bool exact = false;
  for (const claimed& c : claims_) {
    if (c.stream != stream || c.on != &on || !reaches(c.name, to)) continue;
    const bool same = c.name == to;
    // A socket bound to the very address comes before those that take any.
    if (same && !exact) found.clear();
    if (exact && !same) continue;
    exact = same;
    if (auto owner = c.owner.lock()) found.push_back(std::move(owner));
  }
  if (found.empty()) return nullptr;
  return found.size() == 1 ? found.front() : found[on.wire.below(found.size())];
}

unsigned network::free_port(bool stream) {
  for (;;) {
    const unsigned port = next_port_;
    next_port_ = next_port_ == 60999 ? 32768 : next_port_ + 1;
    const bool taken = std::any_of(claims_.begin(), claims_.end(), [&](const claimed& c) {
      return c.stream == stream && c.name.port() == port;
    });
    if (!taken) return port;
  }
}

sim_link network::link(computer& from, const address& local, const address& remote) {
  if (local.family() == AF_UNIX) return {nanoseconds{0}, nanoseconds{0}, 0, 0};
  for (const address* name : {&remote, &local})
    if (auto found = links_.find(text(*name)); found != links_.end()) return found->second;
  if (from.wire.chance(options_.slow_links)) return options_.slow_link;
  return options_.link;
}

}  // namespace heddle::sim
