// SPDX-License-Identifier: MIT
// The state that a resolver shares with its look-ups and questions, which keep it alive.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "heddle/names/resolver.hh"
#include "names/cache.hh"
#include "names/flight.hh"
#include "names/settings.hh"

namespace heddle::names::detail {

class resolver_core : public std::enable_shared_from_this<resolver_core> {
 public:
  explicit resolver_core(resolver_options from);

  [[nodiscard]] static task<outcome> lookup(std::shared_ptr<resolver_core> self, std::string host,
                                            lookup_options want);
  /// Ends all questions, and with them the look-ups.
  void shut() noexcept;
  [[nodiscard]] std::string describe() const;

  const resolver_options options;
  resolver_counters counters;
  answer_cache cache;

 private:
  /// The kind of look-up that a flight makes. Part of the flight's key.
  enum class work : char { files = 'f', a = 'a', aaaa = '6', system = 's', system_v4, system_v6 };

  [[nodiscard]] task<outcome> search(const std::string& host, lookup_options want);
  [[nodiscard]] task<answer> ask_full(const std::string& name, address_family family, bool& cached);
  [[nodiscard]] ticket begin(work what, const std::string& name);
  [[nodiscard]] task<answer> perform(work what, std::string name);
  [[nodiscard]] task<answer> ask_system(std::string host, address_family family);
  static task<> run_flight(std::shared_ptr<resolver_core> self, std::shared_ptr<flight> f,
                           work what, std::string name);
  /// Waits until all have ended, but only for `patience` once one of them has addresses.
  static task<> until_ended(const std::vector<ticket>& all, nanoseconds patience);

  settings files_;
  semaphore sockets_;
  std::unordered_map<std::string, std::shared_ptr<flight>> flights_;
};

}  // namespace heddle::names::detail
