// SPDX-License-Identifier: MIT
// The race is core's hedged(): a head start for each attempt, the first success is taken.
#include "heddle/client/connect.hh"

#include "heddle/core/hedged.hh"
#include "heddle/io/resolve.hh"

namespace heddle {
namespace {

task<tcp_stream> connect_one(address to) {
  auto made = co_await as_expected(tcp_connect(to));
  if (!made) throw failure(made.error(), "cannot connect to " + to.to_string());
  co_return std::move(*made);
}

task<stream> connect_one_by(tcp_source& by, address to) {
  auto made = co_await as_expected(by.connect(to));
  if (!made) throw failure(made.error(), "cannot connect to " + to.to_string());
  co_return std::move(*made);
}

/// The addresses in the order in which to try them.
std::vector<address> turns_of(std::vector<address> to) {
  if (to.empty())
    throw failure(std::make_error_code(std::errc::address_not_available), "there is no address");
  return interleaved(std::move(to));
}

}  // namespace

std::vector<address> interleaved(std::vector<address> found) {
  std::vector<address> same, other, turns;
  for (const address& a : found) (a.is_v6() == found.front().is_v6() ? same : other).push_back(a);
  for (std::size_t i = 0; i < std::max(same.size(), other.size()); ++i) {
    if (i < same.size()) turns.push_back(same[i]);
    if (i < other.size()) turns.push_back(other[i]);
  }
  return turns;
}

task<tcp_stream> connect_first(std::vector<address> to, nanoseconds stagger) {
  const std::vector<address> turns = turns_of(std::move(to));
  if (turns.size() == 1) co_return co_await connect_one(turns.front());
  co_return co_await hedged(turns.size(), stagger,
                            [&turns](std::size_t i) { return connect_one(turns[i]); });
}

task<tcp_stream> connect_first(std::string host, std::uint16_t port, nanoseconds stagger) {
  std::vector<address> found = co_await resolve(host, std::to_string(port));
  co_return co_await connect_first(std::move(found), stagger);
}

task<tcp_stream> connect_first(names::resolver& names, std::string host, std::uint16_t port,
                               nanoseconds stagger) {
  names::lookup_options with;
  with.port = port;
  names::found got = co_await names.lookup(std::move(host), with);
  co_return co_await connect_first(std::move(got.addresses), stagger);
}

task<stream> connect_first(std::shared_ptr<tcp_source> by, std::vector<address> to,
                           nanoseconds stagger) {
  if (by == nullptr) co_return co_await connect_first(std::move(to), stagger);
  const std::vector<address> turns = turns_of(std::move(to));
  if (turns.size() == 1) co_return co_await connect_one_by(*by, turns.front());
  const auto attempt = [&turns, &by](std::size_t i) { return connect_one_by(*by, turns[i]); };
  co_return co_await hedged(turns.size(), stagger, attempt);
}

}  // namespace heddle
