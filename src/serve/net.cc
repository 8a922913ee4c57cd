// SPDX-License-Identifier: MIT
// The setting --net, and what the stacks tell about themselves.
#include "serve/net.hh"

#include <ifaddrs.h>
#include <netinet/in.h>

#include "heddle/tcp/drop.hh"
#include "serve/values.hh"

namespace heddle::serve {
namespace {

constexpr std::uint16_t port_that_is_free = 49152;  // a stack of its own has no other listener

/// The counters that a page shows, with their names.
struct shown_counter {
  std::uint64_t tcp::stack_counters::* value;
  const char* name;
  const char* help;
};
constexpr shown_counter shown[] = {
    {&tcp::stack_counters::packets_in, "heddle_tcp_packets_received_total",
     "Packets that the device brought."},
    {&tcp::stack_counters::packets_out, "heddle_tcp_packets_sent_total", "Segments sent."},
    {&tcp::stack_counters::opened_passive, "heddle_tcp_accepted_total", "Connections accepted."},
    {&tcp::stack_counters::segments_retransmitted, "heddle_tcp_retransmitted_total",
     "Segments sent again."},
    {&tcp::stack_counters::timeouts, "heddle_tcp_timeouts_total", "Timeouts of sent segments."},
    {&tcp::stack_counters::cookies_sent, "heddle_tcp_cookies_sent_total",
     "SYNs answered with a cookie, without memory."},
    {&tcp::stack_counters::resets_sent, "heddle_tcp_resets_sent_total", "Resets sent."},
};

/// Sets a part that comes after the address: memory=64M and so on.
void set_part(serve_options& o, std::string_view text) {
  constexpr std::uint64_t least = 65536, most = std::uint64_t{1} << 40;
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  const std::string_view value = equals == text.npos ? "" : text.substr(equals + 1);
  if (name == "memory") {
    o.user_memory = size_within(value, least, most);
  } else if (name == "shard-memory") {
    o.user->stack.memory_bytes = size_within(value, least, most);
  } else if (name == "full" && (value == "wait" || value == "refuse")) {
    o.user->stack.when_full =
        value == "refuse" ? tcp::memory_policy::refuse : tcp::memory_policy::wait;
  } else if (name == "dump") {
    o.user->stack.dump_connections_max =
        static_cast<std::uint32_t>(number_within(value, "connections", 0, 100'000));
  } else if (name == "trace" && !value.empty()) {
    o.user->trace = value;
  } else if (name == "trace-size") {
    o.user->trace_bytes_max = size_within(value, 4096, most);
  } else {
    throw bad_setting("'" + std::string(text) +
                      "' is no part of a network; after the address there may be memory=SIZE, "
                      "shard-memory=SIZE, full=wait or full=refuse, dump=CONNECTIONS, trace=FILE "
                      "and trace-size=SIZE");
  }
}

/// Shows one metric for each thing that was refused, and each bound.
void show_refusals(const tcp::refusal_counters& all, http::metrics_page& page) {
  for (std::size_t what = 0; what != tcp::refusal_count; ++what)
    for (std::size_t by = 0; by != all[what].size(); ++by) {
      if (all[what][by] == 0) continue;
      const std::string name = "heddle_tcp_refused_" +
                               std::string(tcp::name_of(static_cast<tcp::refusal>(what))) + "_" +
                               std::string(tcp::name_of(static_cast<tcp::bound>(by))) + "_total";
      page.counter(name, "Refused because this bound of memory was reached.", all[what][by]);
    }
}

}  // namespace

void set_net(serve_options& o, std::string_view text) {
  o.user.reset();
  o.user_memory = 0;
  if (text == "kernel") return;
  constexpr std::string_view prefix = "user:";
  const std::size_t comma = text.find(',');
  const std::string_view rest = comma == text.npos ? "" : text.substr(comma + 1);
  const std::string_view address = rest.substr(0, rest.find(','));
  const bool parses = tcp::ip_address::parse(address.substr(0, address.find('/'))).has_value();
  if (!text.starts_with(prefix) || comma <= prefix.size() || !parses)
    throw bad_setting("'" + std::string(text) +
                      "' is no network; write kernel, or user:DEVICE,ADDRESS, for example "
                      "user:tun0,10.9.0.2/24");
  if (const std::string trouble = net::address_trouble(address); !trouble.empty())
    throw bad_setting(trouble);
  o.user.emplace();
  o.user->device = text.substr(prefix.size(), comma - prefix.size());
  o.user->address = address;
  for (std::string_view more = rest.substr(address.size()); !more.empty();) {
    more.remove_prefix(1);
    const std::string_view one = more.substr(0, more.find(','));
    set_part(o, one);
    more.remove_prefix(one.size());
  }
}

std::shared_ptr<tcp::memory_budget> process_memory_of(const serve_options& o) {
  return o.user_memory == 0 ? nullptr : std::make_shared<tcp::memory_budget>(o.user_memory);
}

net::provider provider_of(const serve_options& o, std::size_t worker,
                          std::shared_ptr<tcp::memory_budget> process) {
  if (!o.user) return net::kernel();
  net::user_options user = *o.user;
  user.stack.process_memory = std::move(process);
  if (!user.trace.empty() && worker != 0) user.trace += "." + std::to_string(worker);
  return net::user(user);
}

address user_address(const serve_options& o) {
  const auto own = address::parse(o.user->address.substr(0, o.user->address.find('/')));
  return own->with_port(o.port > 0    ? static_cast<std::uint16_t>(o.port)
                        : o.port == 0 ? port_that_is_free
                                      : default_port);
}

stack_totals& stack_totals::operator+=(const stack_totals& other) {
  for (const shown_counter& s : shown) counters.*s.value += other.counters.*s.value;
  for (std::size_t i = 0; i != tcp::drop_count; ++i) counters.drops[i] += other.counters.drops[i];
  for (std::size_t i = 0; i != tcp::refusal_count; ++i)
    for (std::size_t by = 0; by != 2; ++by)
      counters.refusals[i][by] += other.counters.refusals[i][by];
  connections += other.connections;
  memory += other.memory;
  stacks += other.stacks;
  return *this;
}

stack_totals totals_of(const net::provider& p) {
  const tcp::stack* const s = p.stack();
  if (s == nullptr) return {};
  return {s->counters(), s->connection_count(), s->memory().used, 1};
}

void show(const stack_totals& t, http::metrics_page& page) {
  if (t.stacks == 0) return;
  page.gauge("heddle_tcp_connections", "Connections that the stacks hold.", t.connections);
  page.gauge("heddle_tcp_memory_bytes", "Memory that counts for the stacks' bounds.", t.memory);
  for (const shown_counter& s : shown) page.counter(s.name, s.help, t.counters.*s.value);
  for (std::size_t i = 1; i != tcp::drop_count; ++i) {
    if (t.counters.drops[i] == 0) continue;
    const std::string name =
        "heddle_tcp_dropped_" + std::string(tcp::name_of(static_cast<tcp::drop>(i))) + "_total";
    page.counter(name, "Packets dropped for this reason.", t.counters.drops[i]);
  }
  show_refusals(t.counters.refusals, page);
}

bool is_own_address(const address& a) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return false;
  bool found = false;
  for (const ifaddrs* i = list; i != nullptr && !found; i = i->ifa_next) {
    if (i->ifa_addr == nullptr) continue;
    const unsigned len =
        i->ifa_addr->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    const auto own = address::from(i->ifa_addr, len);
    found = own && own->host() == a.unmapped().host();
  }
  ::freeifaddrs(list);
  return found;
}

}  // namespace heddle::serve
