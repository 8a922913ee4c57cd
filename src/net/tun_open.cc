// SPDX-License-Identifier: MIT
// Opening a queue of a TUN device, and what to do where that fails.
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "heddle/base/error.hh"
#include "heddle/io/network.hh"
#include "heddle/net/provider.hh"
#include "heddle/tcp/address.hh"
#include "net/tun.hh"

namespace heddle::net {
namespace {

constexpr const char* node = "/dev/net/tun";

/// A socket to ask about devices with; closes itself.
struct asking_socket {
  int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  asking_socket() = default;
  asking_socket(const asking_socket&) = delete;
  asking_socket& operator=(const asking_socket&) = delete;
  ~asking_socket() {
    if (fd >= 0) ::close(fd);
  }
};

::ifreq request_for(const std::string& device) noexcept {
  ::ifreq r{};
  std::memcpy(r.ifr_name, device.data(), std::min(device.size(), sizeof r.ifr_name - 1));
  return r;
}

bool has_flag(const std::string& device, int flag) noexcept {
  const asking_socket s;
  ::ifreq r = request_for(device);
  return ::ioctl(s.fd, SIOCGIFFLAGS, &r) == 0 && (r.ifr_flags & flag) != 0;
}

/// The address that our advice gives to the kernel: another one of the same network.
std::string kernel_address(const std::string& own) {
  const std::size_t slash = own.find('/');
  std::string host = own.substr(0, slash);
  const std::string length = slash == std::string::npos ? "" : own.substr(slash);
  if (host.empty()) return own;
  host.back() = host.back() == '1' ? '2' : '1';
  return host + length;
}

std::string commands_for(const std::string& device, const std::string& own) {
  return "sudo ip tuntap add dev " + device + " mode tun user $USER vnet_hdr multi_queue\n" +
         "sudo ip address add " + kernel_address(own) + " dev " + device + "\n" +
         "sudo ip link set " + device + " up";
}

/// Whether one of the kernel's interfaces has the address.
bool kernel_has(const std::string& own_address) {
  const auto own = tcp::ip_address::parse(own_address.substr(0, own_address.find('/')));
  ::ifaddrs* all = nullptr;
  if (!own || ::getifaddrs(&all) != 0) return false;
  const std::unique_ptr<::ifaddrs, decltype(&::freeifaddrs)> keep(all, &::freeifaddrs);
  for (const ::ifaddrs* i = all; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr) continue;
    tcp::ip_address there = tcp::ip_address::v4(0, 0, 0, 0);
    if (i->ifa_addr->sa_family == AF_INET) {
      const auto* const in = reinterpret_cast<const ::sockaddr_in*>(i->ifa_addr);
      std::memcpy(there.bytes.data() + 12, &in->sin_addr, 4);
    } else if (i->ifa_addr->sa_family == AF_INET6) {
      const auto* const in = reinterpret_cast<const ::sockaddr_in6*>(i->ifa_addr);
      std::memcpy(there.bytes.data(), &in->sin6_addr, 16);
    }
    if (there == *own) return true;
  }
  return false;
}

}  // namespace

user_check check_user(const std::string& device, const std::string& own_address) {
  const int fd = ::open(node, O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    const bool missing = errno == ENOENT || errno == ENODEV || errno == ENXIO;
    return missing ? user_check{std::string(node) + " is missing", "sudo modprobe tun"}
                   : user_check{std::string(node) + ": " + std::strerror(errno),
                                std::string("sudo chmod 0666 ") + node};
  }
  ::close(fd);
  if (device.empty() || device.size() >= IFNAMSIZ)
    return {"'" + device + "' is no name of a device", ""};
  if (::if_nametoindex(device.c_str()) == 0)
    return {"there is no device " + device, commands_for(device, own_address)};
  if (!has_flag(device, IFF_UP)) return {device + " is down", "sudo ip link set " + device + " up"};
  if (kernel_has(own_address))
    return {"the kernel has the address " + own_address.substr(0, own_address.find('/')) +
                " itself, so its packets do not come to " + device +
                "; choose another one of the network",
            ""};
  return {};
}

bool device_runs(const std::string& device) { return has_flag(device, IFF_RUNNING); }

namespace detail {

tun_queue::tun_queue(const std::string& device, bool offloads) : offloads_(offloads) {
  const auto fail = [&](int error, const std::string& what) {
    if (fd_ >= 0) ::close(fd_);
    throw failure({error, std::generic_category()}, device + ": " + what);
  };
  fd_ = ::open(node, O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (fd_ < 0) fail(errno, std::string("cannot open ") + node);
  ::ifreq r = request_for(device);
  r.ifr_flags = static_cast<short>(IFF_TUN | IFF_NO_PI | IFF_VNET_HDR | IFF_MULTI_QUEUE);
  if (::ioctl(fd_, TUNSETIFF, &r) != 0) {
    // A device that was made for one queue takes no other.
    r.ifr_flags = static_cast<short>(IFF_TUN | IFF_NO_PI | IFF_VNET_HDR);
    if (errno != EINVAL || ::ioctl(fd_, TUNSETIFF, &r) != 0) {
      const int error = errno;
      fail(error, error == EPERM ? "it belongs to another user; make it with `user NAME`"
                  : error == EBUSY
                      ? "its queue is in use; make it with `multi_queue` for several workers"
                      : "cannot be opened");
    }
  }
  int header = sizeof(offload_header);
  const unsigned wanted = offloads ? TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 : 0;
  int unbounded = INT32_MAX;  // a packet that a full queue refuses would have to be sent again
  if (::ioctl(fd_, TUNSETVNETHDRSZ, &header) != 0 ||
      ::ioctl(fd_, TUNSETOFFLOAD, static_cast<unsigned long>(wanted)) != 0 ||
      ::ioctl(fd_, TUNSETSNDBUF, &unbounded) != 0)
    fail(errno, "the kernel does not know its offloads");
  const asking_socket s;
  if (::ioctl(s.fd, SIOCGIFMTU, &r) == 0) mtu_ = static_cast<std::uint32_t>(r.ifr_mtu);
}

tun_queue::~tun_queue() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace detail
}  // namespace heddle::net
