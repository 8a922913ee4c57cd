// SPDX-License-Identifier: MIT
// Names to addresses without threads: a stub resolver (RFC 1035) over the driver's own sockets, so
// it runs on each driver and in a simulation. It caches answers by their time to live, joins equal
// questions, reads the machine's hosts file and search list, and asks the next server if one fails.
//
//   names::resolver names;
//   const names::found at = co_await names.lookup("example.org", {.port = 443});
//   for (const address& a : at.addresses) ...
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "heddle/core/task.hh"
#include "heddle/io/resolve.hh"
#include "heddle/names/counters.hh"
#include "heddle/names/found.hh"
#include "heddle/names/options.hh"

namespace heddle::names {

namespace detail {
class resolver_core;
}

struct lookup_options {
  std::uint16_t port = 0;  ///< the port of the addresses found
  address_family family = address_family::any;
};

/// Thread: one color, in which the resolver also ends. Programs with several colors make one in
/// each.
/// Resumes: the awaiting frame.
/// Owns: its cache, and the sockets of questions that are being asked.
/// Cancel: the look-up ends with operation_canceled. Its question goes on if another look-up waits
///   for it, otherwise its socket is closed. The destructor ends all look-ups in this way.
/// Fails: lookup() throws failure with a code of names::category() and a text; try_lookup() gives
///   both as a value, and throws only operation_canceled (or std::bad_alloc).
class resolver {
 public:
  explicit resolver(resolver_options options = resolver_options());
  resolver(const resolver&) = delete;
  resolver& operator=(const resolver&) = delete;
  ~resolver();

  /// Finds the addresses of a host. A numeric address is its own answer. A name that ends with a
  /// dot is not searched.
  [[nodiscard]] task<found> lookup(std::string host, lookup_options options = {});
  [[nodiscard]] task<outcome> try_lookup(std::string host, lookup_options options = {});

  /// Drops all cached answers. Questions that are being asked go on.
  void forget() noexcept;
  [[nodiscard]] std::size_t cached() const noexcept;  ///< answers in the cache
  [[nodiscard]] const resolver_counters& counters() const noexcept;
  [[nodiscard]] const resolver_options& options() const noexcept;
  /// A text for people: where answers come from and why, and which lines of files were ignored.
  /// Known after the first look-up.
  [[nodiscard]] std::string describe() const;

 private:
  std::shared_ptr<detail::resolver_core> core_;
};

}  // namespace heddle::names
