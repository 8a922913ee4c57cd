// SPDX-License-Identifier: MIT
// The servers that a connection tries, in turn: those of its options, and those that the cluster
// has named.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::nats::detail {

struct server_place {
  std::string host;
  std::uint16_t port = 0;
  [[nodiscard]] std::string text() const;
  friend bool operator==(const server_place&, const server_place&) = default;
};

/// Reads "HOST", "HOST:PORT", "[::1]:PORT", each also after "nats://". Throws
/// failure(invalid_argument).
[[nodiscard]] server_place place_of(std::string_view text);

class server_list {
 public:
  server_list(const std::vector<std::string>& texts, std::size_t most);

  /// The next server to try.
  [[nodiscard]] server_place next() noexcept;
  /// Whether a round through all of them begins with the next one.
  [[nodiscard]] bool begins_round() const noexcept { return following() == 0; }
  /// Adds a server that the cluster has named, unless it is known or there are too many. A text
  /// that is none is ignored.
  void learn(std::string_view text);
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

 private:
  [[nodiscard]] std::size_t following() const noexcept {
    return last_ + 1 < all_.size() ? last_ + 1 : 0;
  }

  std::vector<server_place> all_;
  std::size_t most_;
  std::size_t last_ = ~std::size_t{0};  // the place of the last one; before it, none
};

}  // namespace heddle::nats::detail
