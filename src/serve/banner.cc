// SPDX-License-Identifier: MIT
// The banner and the summary.
#include "serve/banner.hh"

#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/openat2.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>

#include "heddle/io/call.hh"
#include "heddle/io/detail/files_here.hh"
#include "heddle/sched/runtime.hh"
#include "heddle/web/detail/hidden_path.hh"
#include "serve/qr.hh"

namespace heddle::serve {
namespace {

constexpr std::size_t files_counted_max = 10'000;  // limits the time that the banner takes
constexpr std::size_t addresses_max = 16;

/// Counts the files that can be requested, up to a limit.
class file_count {
 public:
  explicit file_count(const serve_options& o) : hidden_(o.files.hidden) { add(o.directory); }

  [[nodiscard]] std::string text() const {
    if (seen_ > files_counted_max) return "more than " + std::to_string(files_) + " files";
    return std::to_string(files_) + (files_ == 1 ? " file" : " files");
  }

 private:
  struct names final : entry_receiver {
    explicit names(std::size_t most) noexcept : names_max(most) {}
    bool receive(const char* name, entry_type) override {
      all.emplace_back(name);
      return all.size() < names_max;
    }
    std::size_t names_max;
    std::vector<std::string> all;
  };

  void add(const std::string& folder) {
    if (seen_ > files_counted_max) return;
    driver_files& files = heddle::detail::files_here();
    ::open_how how{};
    how.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    const int fd = files.open(AT_FDCWD, folder.c_str(), how);
    if (fd < 0) return;
    names found(files_counted_max + 1 - seen_);
    static_cast<void>(files.list(fd, found));
    files.close(fd);
    for (const std::string& name : found.all) {
      if (++seen_ > files_counted_max) return;
      if (http::withheld_name(name, hidden_)) continue;
      const std::string path = folder + '/' + name;
      struct ::statx state{};
      if (files.stat(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, state) != 0) continue;
      if (S_ISDIR(state.stx_mode)) {
        add(path);  // a link to a folder could lead in a circle
      } else if (!S_ISLNK(state.stx_mode) || files.stat(AT_FDCWD, path.c_str(), 0, state) == 0) {
        files_ += S_ISREG(state.stx_mode) ? 1 : 0;
      }
    }
  }

  bool hidden_;
  std::size_t files_ = 0;
  std::size_t seen_ = 0;
};

/// Whether other machines can reach the address. A link-local address needs a zone, which a URL for
/// a browser cannot contain.
bool reachable(const ::sockaddr* native) {
  if (native->sa_family == AF_INET) return true;
  if (native->sa_family != AF_INET6) return false;
  const auto& six = *reinterpret_cast<const sockaddr_in6*>(native);
  return !IN6_IS_ADDR_LINKLOCAL(&six.sin6_addr);
}

/// This machine's address on its route to the internet. Connecting a datagram socket determines it
/// without sending anything. The destination is a documentation address (RFC 5737).
task<address> outward() {
  const address outside = address::parse("203.0.113.1", 9).value();
  driver& io = runtime::here().io();
  const int fd = io.socket(AF_INET, SOCK_DGRAM, 0);
  if (fd < 0) co_return address();
  heddle::one_operation connecting(op_code::connect, fd, "connect");
  connecting.data = const_cast<::sockaddr*>(outside.native());
  connecting.len = outside.native_len();
  const std::int64_t error = co_await connecting;
  sockaddr_storage here{};
  unsigned len = sizeof here;
  auto* out = reinterpret_cast<::sockaddr*>(&here);
  const bool known = error == 0 && io.local_name(fd, out, &len) == 0;
  io.close(fd, worker::running());
  co_return known ? address::from(out, len).value_or(address()) : address();
}

/// The addresses of this machine's interfaces that others can reach, in no order.
std::vector<address> interface_addresses(const address& at) {
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
  return all;
}

/// The addresses at which other machines may reach this one, the most likely first; with container
/// bridges, a phone can reach only one of them.
task<std::vector<address>> network_addresses(address at) {
  const address out = co_await outward();
  const address first = out.with_port(at.port());
  if (runtime::here().io().simulated()) co_return std::vector{first};
  std::vector<address> all = interface_addresses(at);
  const auto rank = [&](const address& a) { return a == first ? 0 : a.is_v4() ? 1 : 2; };
  std::sort(all.begin(), all.end(),
            [&](const address& a, const address& b) { return rank(a) < rank(b); });
  co_return all;
}

std::string title(const serve_options& o) {
  if (!o.is_proxy)
    return "Serving  " + o.directory + (o.directory.ends_with('/') ? "" : "/") + "  (" +
           file_count(o).text() + ")\n";
  const std::vector<std::string>& all = o.proxy.upstreams;
  std::string text = "Proxy to " + all.front() + '\n';
  for (std::size_t i = 1; i < all.size(); ++i) text += "         " + all[i] + '\n';
  return text;
}

std::string url(const serve_options& o, const address& at) {
  return (o.secure() ? "https://" : "http://") + at.to_string() + '/';
}

}  // namespace

task<std::string> banner(const serve_options& o, address at, address http_at) {
  std::string text = title(o);
  const address any = address::any_v4(at.port());
  const bool everywhere = at == any || at == address::any(at.port());
  const address local = everywhere ? address::loopback(at.port()) : at;
  std::string to_share = url(o, local);
  text += "  here     " + url(o, local) + '\n';
  if (everywhere) {
    const std::vector<address> others = co_await network_addresses(at);
    for (const address& a : others) text += "  network  " + url(o, a) + '\n';
    if (others.empty()) text += "  network  on, but this machine has no address there\n";
    if (!others.empty()) to_share = url(o, others.front());
  } else if (at.is_loopback()) {
    if (!o.is_proxy)
      text += o.bind.empty()
                  ? "  network  off  add --public to share on this network\n"
                  : "  network  off  --public instead of --bind shares on this network\n";
  }
  if (http_at) {
    const bool any_host =
        http_at == address::any_v4(http_at.port()) || http_at == address::any(http_at.port());
    const address shown = any_host ? address::loopback(http_at.port()) : http_at;
    text += "  http     http://" + shown.to_string() + "/ is sent here\n";
  }
  for (const std::string& place : o.listen) text += "  also     " + place + '\n';
  for (const auto& [name, folder] : o.sites) text += "  site     " + name + "  " + folder + '\n';
  if (!o.auth.empty()) text += "  auth     " + o.auth.substr(0, o.auth.find(':')) + '\n';
  if (o.metrics) text += "  metrics  " + url(o, local) + "metrics\n";
  const std::size_t workers = runtime::here().workers();
  text += "  " + std::to_string(workers) + (workers == 1 ? " worker, " : " workers, ") +
          runtime::here().io().name() + "      Ctrl-C stops; twice: at once\n";
  if (o.qr) text += qr_picture(to_share);
  co_return text;
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

}  // namespace heddle::serve
