// SPDX-License-Identifier: MIT
// The texts of hosts, resolv.conf and nsswitch.conf, and names: whatever is taken from them has to
// be a valid name or address within the limits, and each line that was left out is counted. The
// first byte chooses the file.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "names/name.hh"
#include "names/system_files.hh"

namespace {

using namespace heddle::names::detail;

void demand(bool condition) {
  if (!condition) std::abort();
}

void demand_plain(const std::string& name) {
  demand(name_problem(name).empty());
  demand(plain_name(name) == name);
  demand(!name.ends_with('.'));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  ignored_lines ignored;
  switch (data[0] % 4) {
    case 0: {
      const host_table table = read_hosts(text, "hosts", ignored);
      for (const auto& [name, all] : table) {
        demand_plain(name);
        demand(!all.empty());
        for (const heddle::address& a : all) demand(a && a.port() == 0);
      }
      break;
    }
    case 1: {
      const resolv_conf c = read_resolv_conf(text, "resolv.conf", 3, 4, ignored);
      demand(c.servers.size() <= 3 && c.search.size() <= 4);
      for (const heddle::address& a : c.servers) demand(a && a.port() == 53);
      for (const std::string& each : c.search) demand_plain(each);
      demand(c.ndots.value_or(0) <= 15 && c.tries.value_or(1) - 1 < 5);
      const std::string_view host = "Web";
      for (const std::string& full : candidates(host, c.search, c.ndots.value_or(1))) {
        demand_plain(full);
        demand(full.starts_with("web") && full.size() <= name_bytes_max);
      }
      break;
    }
    case 2: {
      const std::string foreign = foreign_source(text);
      demand(foreign != "files" && foreign != "dns" && foreign != "resolve");
      break;
    }
    default:
      if (name_problem(text).empty()) demand_plain(plain_name(text));
  }
  demand((ignored.count == 0) == ignored.first.empty());
  return 0;
}
