// SPDX-License-Identifier: MIT
// The table of a port mapper, and its two procedures.
#include "heddle/rpc/port_mapper.hh"

#include <algorithm>

namespace heddle::rpc {
namespace {

/// An element of DUMP's linked list.
struct mapping_entry {
  mapping map;
  xdr::link<mapping_entry> next;
};
template <class A, xdr::form_of<mapping_entry> V>
bool describe(A& a, V& v) {
  return a("map", v.map) && a("next", v.next);
}
xdr::link<mapping_entry>& tail_of(mapping_entry& v) noexcept { return v.next; }

struct get_port {
  static constexpr std::uint32_t program = 100000;
  static constexpr std::uint32_t version = 2;
  static constexpr std::uint32_t number = 3;
  static constexpr const char* name = "PMAP_VERS.PMAPPROC_GETPORT";
  using argument = mapping;
  using result = std::uint32_t;
};
struct dump {
  static constexpr std::uint32_t program = 100000;
  static constexpr std::uint32_t version = 2;
  static constexpr std::uint32_t number = 4;
  static constexpr const char* name = "PMAP_VERS.PMAPPROC_DUMP";
  using argument = void;
  using result = xdr::link<mapping_entry>;
};

}  // namespace

void port_mapper::set(std::uint32_t program, std::uint32_t version, std::uint16_t port) {
  for (mapping& each : table_) {
    if (each.program != program || each.version != version) continue;
    each.port = port;
    return;
  }
  table_.push_back({.program = program, .version = version, .port = port});
}

void port_mapper::add_to(server& s) {
  s.on<get_port>([this](const call&, mapping&& asked) -> task<std::uint32_t> {
    const auto at = std::ranges::find_if(table_, [&](const mapping& each) {
      return each.program == asked.program && each.version == asked.version &&
             each.protocol == asked.protocol;
    });
    co_return at == table_.end() ? 0 : at->port;
  });
  s.on<dump>([this](const call&) -> task<xdr::link<mapping_entry>> {
    xdr::link<mapping_entry> first;
    xdr::list_builder<mapping_entry> all(first);
    for (const mapping& each : table_) all.append().map = each;
    co_return first;
  });
}

task<std::uint16_t> port_of(client& mapper, std::uint32_t program, std::uint32_t version) {
  const mapping asked{.program = program, .version = version};
  const std::uint32_t port = co_await mapper.call<get_port>(asked);
  if (port > 65535)
    throw failure(errc::bad_reply,
                  "PMAP_VERS.PMAPPROC_GETPORT: " + std::to_string(port) + " is no port");
  co_return static_cast<std::uint16_t>(port);
}

task<std::vector<mapping>> all_mappings(client& mapper) {
  const xdr::link<mapping_entry> first = co_await mapper.call<dump>();
  std::vector<mapping> all;
  for (const mapping_entry* e = first.get(); e != nullptr; e = e->next.get()) all.push_back(e->map);
  co_return all;
}

}  // namespace heddle::rpc
