// SPDX-License-Identifier: MIT
// Links between the computers of a cluster, by their numbers: the link that a test has set for two
// of them, and the directions that are cut. A cut direction loses datagrams, requests to connect
// and resets; the bytes and ends of streams wait in their sockets, as TCP sends them again.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "heddle/sim/options.hh"
#include "sim/random.hh"

namespace heddle::sim {

class links {
 public:
  /// A call to make some time after a direction is healed; `wire` draws how long.
  struct waiter {
    random_stream* wire;
    std::move_only_function<void()> what;
  };
  struct healed {
    time_point cut_at;
    std::vector<waiter> waiting;
  };

  void cut(unsigned from, unsigned to, time_point now) {
    if (from != to) cuts_.try_emplace({from, to}, healed{now, {}});
  }
  /// Ends a cut, and gives back the calls that waited.
  [[nodiscard]] healed heal(unsigned from, unsigned to) {
    return std::move(cuts_.extract({from, to}).mapped());
  }
  [[nodiscard]] bool is_cut(unsigned from, unsigned to) const noexcept {
    return !cuts_.empty() && cuts_.contains({from, to});
  }
  /// The direction must be cut.
  void wait(unsigned from, unsigned to, waiter w) {
    cuts_.at({from, to}).waiting.push_back(std::move(w));
  }

  /// Sets the link for both directions.
  void set(unsigned one, unsigned other, const sim_link& link) {
    links_[std::minmax(one, other)] = link;
  }
  /// The link that was set for these two; null if none was.
  [[nodiscard]] const sim_link* of(unsigned one, unsigned other) const noexcept {
    if (links_.empty()) return nullptr;
    const auto found = links_.find(std::minmax(one, other));
    return found == links_.end() ? nullptr : &found->second;
  }

 private:
  using pair = std::pair<unsigned, unsigned>;
  std::map<pair, healed> cuts_;
  std::map<pair, sim_link> links_;
};

}  // namespace heddle::sim
