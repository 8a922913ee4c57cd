// SPDX-License-Identifier: MIT
// The setting --net, and what the stacks tell about themselves.
#include "serve/net.hh"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "heddle/net/choice.hh"
#include "heddle/sched/detail/here.hh"
#include "heddle/sched/detail/world_here.hh"
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

/// Whether a socket can be bound there. On a real machine some systems allow any address
/// (ip_nonlocal_bind), in a simulated world only those of the node.
bool can_bind_to(const address& a) noexcept {
  const address at = a.unmapped().with_port(0);
  driver& io = driver_here();
  const int fd = io.socket(at.family(), SOCK_DGRAM, 0);
  if (fd < 0) return false;
  const bool bound = io.bind(fd, at.native(), at.native_len()) == 0;
  io.close(fd, worker::running());
  return bound;
}

}  // namespace

void set_net(serve_options& o, std::string_view text) {
  net::choice wanted = net::read_choice(text);
  if (!wanted.trouble.empty()) throw bad_setting(wanted.trouble);
  o.user = std::move(wanted.user);
  o.user_memory = wanted.memory;
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
  if (heddle::detail::simulated_here()) return can_bind_to(a);
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
