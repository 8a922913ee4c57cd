// SPDX-License-Identifier: MIT
// From names to micro-protocols, and which of them need others.
#include "composition.hh"

#include <algorithm>
#include <set>
#include <stdexcept>

namespace player {

namespace {

struct choice {
  const char* name;
  part (*make)(endpoint&);
  const char* needs;
};
constexpr choice choices[] = {
    {"round_trip", make_round_trip, "acknowledgement"},
    {"flow_control", make_flow_control, "acknowledgement"},
    {"parity", make_parity, nullptr},
    {"acknowledgement", make_acknowledgement, nullptr},
    {"guard", make_guard, nullptr},
    {"adaptation", make_adaptation, "acknowledgement"},
};

std::string all_names() {
  std::string out;
  for (const choice& c : choices) out += (out.empty() ? "" : ", ") + std::string(c.name);
  return out;
}

std::set<std::string> split(const std::string& names) {
  std::set<std::string> found;
  std::size_t at = 0;
  while (at < names.size()) {
    const std::size_t end = std::min(names.find(',', at), names.size());
    const std::string name = names.substr(at, end - at);
    at = end + 1;
    if (name.empty()) continue;
    if (std::ranges::none_of(choices, [&](const choice& c) { return name == c.name; }))
      throw std::invalid_argument("no micro-protocol '" + name + "'; there are: " + all_names());
    found.insert(name);
  }
  return found;
}

}  // namespace

std::vector<part> compose(endpoint& e, const std::string& names) {
  const std::set<std::string> wanted = split(names);
  std::vector<part> parts;
  parts.push_back(make_fragmentation(e));
  parts.push_back(make_sequencing(e));
  for (const choice& c : choices) {
    if (!wanted.contains(c.name)) continue;
    if (c.needs != nullptr && !wanted.contains(c.needs))
      throw std::invalid_argument("micro-protocol " + std::string(c.name) + " needs " + c.needs +
                                  ": add it, or leave both out");
    parts.push_back(c.make(e));
  }
  parts.push_back(make_transmission(e));
  parts.push_back(make_reassembly(e));
  parts.push_back(make_playout(e));
  return parts;
}

}  // namespace player
