// SPDX-License-Identifier: MIT
// The first words and the last.
#include "cli/serve_banner.hh"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "cli/qr.hh"
#include "heddle/sched/runtime.hh"

namespace heddle::cli {
namespace {

constexpr std::size_t files_counted_max = 10'000;  // a banner must not keep anybody waiting
constexpr std::size_t addresses_max = 16;

/// The files that could be asked for, as far as a glance tells.
std::string count_files(const serve_options& o) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::size_t files = 0;
  std::size_t seen = 0;
  fs::recursive_directory_iterator at(o.directory, fs::directory_options::skip_permission_denied,
                                      error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (++seen > files_counted_max) return "more than " + std::to_string(files) + " files";
    if (!o.hidden && at->path().filename().native().starts_with('.')) {
      at.disable_recursion_pending();
      continue;
    }
    std::error_code unknown;
    files += at->is_regular_file(unknown) ? 1 : 0;
  }
  return std::to_string(files) + (files == 1 ? " file" : " files");
}

/// Others can come to it: it is no zone of one cable only, which a browser could not be told.
bool reachable(const ::sockaddr* native) {
  if (native->sa_family == AF_INET) return true;
  if (native->sa_family != AF_INET6) return false;
  const auto& six = *reinterpret_cast<const sockaddr_in6*>(native);
  return !IN6_IS_ADDR_LINKLOCAL(&six.sin6_addr);
}

/// The address that this machine has towards the rest of the world: where the way there begins. A
/// connected datagram socket knows, and nothing is sent. The destination is nobody's (RFC 5737).
address outward() {
  const address nobody = address::parse("203.0.113.1", 9).value();
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return {};
  sockaddr_storage here{};
  socklen_t len = sizeof here;
  auto* out = reinterpret_cast<::sockaddr*>(&here);
  const bool known =
      ::connect(fd, nobody.native(), nobody.native_len()) == 0 && ::getsockname(fd, out, &len) == 0;
  ::close(fd);
  return known ? address::from(out, len).value_or(address()) : address();
}

/// The addresses under which others on the network find this machine, the likeliest first: of a
/// machine with bridges for its containers, a phone reaches one only.
std::vector<address> network_addresses(const address& at) {
  std::vector<address> all;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return all;
  for (const ifaddrs* i = list; i != nullptr && all.size() < addresses_max; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || (i->ifa_flags & IFF_LOOPBACK) != 0 ||
        (i->ifa_flags & IFF_UP) == 0 || !reachable(i->ifa_addr))
      continue;
    const unsigned len =
        i->ifa_addr->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    const auto a = address::from(i->ifa_addr, len);
    if (a && (a->is_v4() || at.is_v6())) all.push_back(a->with_port(at.port()));
  }
  ::freeifaddrs(list);
  const address first = outward().with_port(at.port());
  const auto rank = [&](const address& a) { return a == first ? 0 : a.is_v4() ? 1 : 2; };
  std::sort(all.begin(), all.end(),
            [&](const address& a, const address& b) { return rank(a) < rank(b); });
  return all;
}

std::string url(const address& at) { return "http://" + at.to_string() + '/'; }

}  // namespace

std::string banner(const serve_options& o, const address& at) {
  std::string text = "Serving  " + o.directory + (o.directory.ends_with('/') ? "" : "/") + "  (" +
                     count_files(o) + ")\n";
  const address any = address::any_v4(at.port());
  const bool everywhere = at == any || at == address::any(at.port());
  const address local = everywhere ? address::loopback(at.port()) : at;
  std::string to_share = url(local);
  text += "  here     " + url(local) + '\n';
  if (everywhere) {
    const std::vector<address> others = network_addresses(at);
    for (const address& a : others) text += "  network  " + url(a) + '\n';
    if (others.empty()) text += "  network  on, but this machine has no address there\n";
    if (!others.empty()) to_share = url(others.front());
  } else if (at.host() == "127.0.0.1" || at.host() == "::1") {
    text += "  network  off  add --public to share on this network\n";
  }
  if (!o.auth.empty()) text += "  auth     " + o.auth.substr(0, o.auth.find(':')) + '\n';
  if (o.metrics) text += "  metrics  " + url(local) + "metrics\n";
  const std::size_t workers = runtime::here().workers();
  text += "  " + std::to_string(workers) + (workers == 1 ? " worker, " : " workers, ") +
          runtime::here().io().name() + "      Ctrl-C stops, twice at once\n";
  if (o.qr) text += qr_picture(to_share);
  return text;
}

std::string readable_bytes(std::uint64_t bytes) {
  constexpr const char* units[] = {"B", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1000 && unit + 1 < std::size(units)) {
    value /= 1000;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return text;
}

std::string farewell(const http::server_counters& c) {
  char text[200];
  std::snprintf(text, sizeof text, "%llu requests, %s, p50 %.1f us, p99 %.1f us, %llu errors",
                static_cast<unsigned long long>(c.requests), readable_bytes(c.bytes).c_str(),
                static_cast<double>(c.latency_ns.quantile(0.5)) / 1e3,
                static_cast<double>(c.latency_ns.quantile(0.99)) / 1e3,
                static_cast<unsigned long long>(c.errors));
  std::string line = text;
  if (c.shed != 0) line += ", " + std::to_string(c.shed) + " shed (overload)";
  return line + '\n';
}

}  // namespace heddle::cli
