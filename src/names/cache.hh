// SPDX-License-Identifier: MIT
// A bounded cache of answers with their time to live. The least recently used answer is dropped
// first.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <vector>

#include "heddle/base/clock.hh"
#include "heddle/io/address.hh"

namespace heddle::names::detail {

/// The outcome of one question: addresses, or a code and the reason.
struct answer {
  std::vector<address> addresses;
  std::string name;  ///< the addresses' own name
  std::error_code code;
  std::string why;  ///< reason of the code: end of a sentence, names the server
  time_point until = time_point::min();  ///< the first moment at which the answer is too old

  [[nodiscard]] bool good() const noexcept { return !code; }
};
using answer_ref = std::shared_ptr<const answer>;

/// Thread: one color. Keys are made by the caller.
class answer_cache {
 public:
  explicit answer_cache(std::size_t entries_max) noexcept : entries_max_(entries_max) {}

  /// The answer for this key; null if there is none. Drops an answer that is too old.
  [[nodiscard]] answer_ref find(std::string_view key, time_point now);
  /// Keeps an answer unless it is too old already. Drops expired answers, and the least recently
  /// used ones if the cache is full.
  void keep(const std::string& key, answer_ref what, time_point now);
  void clear() noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return index_.size(); }

 private:
  struct entry {
    std::string key;
    answer_ref what;
  };
  using order = std::list<entry>;  // the most recently used first

  void drop(order::iterator at) noexcept;

  std::size_t entries_max_;
  order order_;
  std::unordered_map<std::string_view, order::iterator> index_;  // keys lie in the entries
};

}  // namespace heddle::names::detail
