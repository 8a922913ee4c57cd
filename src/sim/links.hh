// SPDX-License-Identifier: MIT
// Links between the computers of a cluster: what a test has set for two of them, and the directions
// that are cut. A cut direction loses datagrams, requests to connect and resets; the bytes and ends
// of streams wait in their sockets, as TCP sends them again.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "heddle/sim/options.hh"

namespace heddle::sim {

class computer;
class world;

class links {
 public:
  explicit links(world& w) noexcept : world_(w) {}

  void cut(const computer& from, const computer& to);
  /// Tells those that wait. They hear it later by a part of the time that the cut lasted, because a
  /// sender tries again ever more rarely.
  void heal(const computer& from, const computer& to);
  void heal_all();
  [[nodiscard]] bool is_cut(const computer& from, const computer& to) const noexcept {
    return !cuts_.empty() && cuts_.contains(key(from, to));
  }
  /// Calls once when the direction, which is cut, has been healed for a while.
  void when_healed(computer& from, const computer& to, std::move_only_function<void()> what);

  /// Sets the link for both directions.
  void set(const computer& one, const computer& other, const sim_link& link);
  /// The link that was set for these two; null if none was.
  [[nodiscard]] const sim_link* of(const computer& one, const computer& other) const noexcept;

 private:
  using pair = std::pair<unsigned, unsigned>;
  struct cut_direction {
    time_point since;
    computer* from = nullptr;  ///< of those that wait
    std::vector<std::move_only_function<void()>> waiting;
  };
  [[nodiscard]] static pair key(const computer& from, const computer& to) noexcept;
  void heal(std::map<pair, cut_direction>::iterator at);

  world& world_;
  std::map<pair, cut_direction> cuts_;
  std::map<pair, sim_link> links_;
};

}  // namespace heddle::sim
