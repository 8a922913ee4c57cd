// SPDX-License-Identifier: MIT
// Networks of a test's own, for which it must be root: namespaces with TUN devices in them, and a
// box between two devices that loses, delays, doubles and reorders packets. What cannot be made is
// a reason to skip.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/route.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <time.h>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <queue>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace heddle::test {

/// The namespace of this thread. Going into another one changes the calling thread alone.
class net_namespace {
 public:
  /// A new one, with a loopback device that is up. !*this: not allowed here.
  net_namespace() {
    const int old = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (::unshare(CLONE_NEWNET) == 0) {
      fd_ = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
      set_up("lo");
      ::setns(old, CLONE_NEWNET);
    }
    ::close(old);
  }
  net_namespace(const net_namespace&) = delete;
  net_namespace& operator=(const net_namespace&) = delete;
  ~net_namespace() {
    if (fd_ >= 0) ::close(fd_);
  }
  explicit operator bool() const noexcept { return fd_ >= 0; }

  /// The calling thread is in it as long as this lives.
  class visit {
   public:
    explicit visit(const net_namespace& in)
        : old_(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {
      ::setns(in.fd_, CLONE_NEWNET);
    }
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;
    ~visit() {
      ::setns(old_, CLONE_NEWNET);
      ::close(old_);
    }

   private:
    int old_;
  };

  static bool set_up(const char* device) {
    ::ifreq r{};
    std::strncpy(r.ifr_name, device, sizeof r.ifr_name - 1);
    return asked(SIOCGIFFLAGS, r) && (r.ifr_flags |= IFF_UP, asked(SIOCSIFFLAGS, r));
  }
  static bool asked(unsigned long what, ::ifreq& r) {
    const int s = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const bool done = ::ioctl(s, what, &r) == 0;
    ::close(s);
    return done;
  }

 private:
  int fd_ = -1;
};

/// A descriptor of a TUN device in this thread's namespace, which is made, with the kernel's
/// address in a network of 24 bits. -1: not allowed here, or there is no TUN.
inline int make_tun(const char* name, const char* kernel_address, int flags) {
  const int fd = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  ::ifreq r{};
  std::strncpy(r.ifr_name, name, sizeof r.ifr_name - 1);
  r.ifr_flags = static_cast<short>(IFF_TUN | IFF_NO_PI | flags);
  auto* const in = reinterpret_cast<::sockaddr_in*>(&r.ifr_addr);
  const auto address = [&](const char* text) {
    std::memset(&r.ifr_addr, 0, sizeof r.ifr_addr);
    in->sin_family = AF_INET;
    ::inet_pton(AF_INET, text, &in->sin_addr);
  };
  bool good = fd >= 0 && ::ioctl(fd, TUNSETIFF, &r) == 0 && ::ioctl(fd, TUNSETPERSIST, 1) == 0;
  if (good) {
    address(kernel_address);
    good = net_namespace::asked(SIOCSIFADDR, r);
    address("255.255.255.0");
    good = good && net_namespace::asked(SIOCSIFNETMASK, r);
    r.ifr_qlen = 10'000;
    good = good && net_namespace::asked(SIOCSIFTXQLEN, r) && net_namespace::set_up(name);
  }
  if (!good && fd >= 0) ::close(fd);
  return good ? fd : -1;
}

/// In this thread's namespace: `network`/24 is behind a device.
inline bool add_route(const char* network, const char* device) {
  ::rtentry e{};
  const auto set = [](::sockaddr& at, const char* text) {
    auto& in = reinterpret_cast<::sockaddr_in&>(at);
    in.sin_family = AF_INET;
    ::inet_pton(AF_INET, text, &in.sin_addr);
  };
  set(e.rt_dst, network);
  set(e.rt_genmask, "255.255.255.0");
  e.rt_flags = RTF_UP;
  std::string name = device;
  e.rt_dev = name.data();
  const int s = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool done = ::ioctl(s, SIOCADDRT, &e) == 0;
  ::close(s);
  return done;
}

/// In this thread's namespace: one more address of its own.
inline bool add_loopback_address(const char* text) {
  ::ifreq r{};
  std::strncpy(r.ifr_name, "lo:1", sizeof r.ifr_name - 1);
  auto& in = reinterpret_cast<::sockaddr_in&>(r.ifr_addr);
  in.sin_family = AF_INET;
  ::inet_pton(AF_INET, text, &in.sin_addr);
  return net_namespace::asked(SIOCSIFADDR, r);
}

/// Two namespaces: in `near`, user TCP has 10.9.0.2 behind tun0 (the kernel is 10.9.0.1). In `far`,
/// the kernel is 10.8.0.1. Between them is a box that loses packets by
/// chance, and delays all; the kernel in `near` routes.
class lossy_network {
 public:
  struct options {
    double loss = 0;
    std::uint32_t delay_us = 0;
    double duplicate = 0;
    double reorder = 0;  // these come reorder_us later
    std::uint32_t reorder_us = 2000;
    std::uint64_t seed = 1;
  };
  explicit lossy_network(options o) : options_(o) {
    if (!near || !far) return;
    {
      const net_namespace::visit in(near);
      const int device = make_tun("tun0", "10.9.0.1", IFF_VNET_HDR | IFF_MULTI_QUEUE);
      if (device < 0) return;
      ::close(device);
      ends_[0] = make_tun("box0", "10.8.9.1", 0);
      std::ofstream("/proc/sys/net/ipv4/ip_forward") << "1";
      if (ends_[0] < 0 || !add_route("10.8.0.0", "box0")) return;
    }
    {
      const net_namespace::visit in(far);
      ends_[1] = make_tun("box1", "10.8.0.1", 0);
      if (ends_[1] < 0 || !add_route("10.9.0.0", "box1")) return;
    }
    box_ = std::thread([this] { carry(); });
  }
  lossy_network(const lossy_network&) = delete;
  lossy_network& operator=(const lossy_network&) = delete;
  ~lossy_network() {
    stop_ = true;
    if (box_.joinable()) box_.join();
    for (const int fd : ends_)
      if (fd >= 0) ::close(fd);
  }
  explicit operator bool() const noexcept { return box_.joinable(); }
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }

  net_namespace near;
  net_namespace far;

 private:
  struct late {
    std::uint64_t due;
    std::uint64_t order;
    int to;
    std::string bytes;
    bool operator<(const late& o) const noexcept {
      return std::pair(due, order) > std::pair(o.due, o.order);
    }
  };
  static std::uint64_t now_us() {
    ::timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000 +
           static_cast<std::uint64_t>(t.tv_nsec) / 1000;
  }
  bool chance(double wanted) noexcept {
    if (wanted <= 0) return false;
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t z = state_;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return static_cast<double>((z ^ z >> 31) >> 11) * 0x1p-53 < wanted;
  }
  void carry() {
    state_ = options_.seed;
    std::priority_queue<late> waiting;
    std::uint64_t order = 0;
    std::array<char, 65536> packet;
    while (!stop_) {
      const std::uint64_t now = now_us();
      while (!waiting.empty() && waiting.top().due <= now) {
        const late& first = waiting.top();
        static_cast<void>(!::write(first.to, first.bytes.data(), first.bytes.size()));
        waiting.pop();
      }
      ::timespec patience{0, 20'000'000};
      if (!waiting.empty())
        patience.tv_nsec =
            static_cast<long>(std::min<std::uint64_t>(20'000, waiting.top().due - now) * 1000);
      std::array<::pollfd, 2> ready{{{ends_[0], POLLIN, 0}, {ends_[1], POLLIN, 0}}};
      if (::ppoll(ready.data(), 2, &patience, nullptr) <= 0) continue;
      for (std::size_t from = 0; from != 2; ++from)
        for (int n = 0; n != 64; ++n) {
          const ::ssize_t got = ::read(ends_[from], packet.data(), packet.size());
          if (got <= 0) break;
          if (chance(options_.loss)) {
            ++lost_;
            continue;
          }
          const int to = ends_[1 - from];
          for (int copies = chance(options_.duplicate) ? 2 : 1; copies != 0; --copies) {
            const std::uint32_t late =
                options_.delay_us + (chance(options_.reorder) ? options_.reorder_us : 0);
            if (late == 0) {
              static_cast<void>(!::write(to, packet.data(), static_cast<std::size_t>(got)));
            } else {
              waiting.push({now_us() + late, ++order, to,
                            std::string(packet.data(), static_cast<std::size_t>(got))});
            }
          }
        }
    }
  }

  options options_;
  std::array<int, 2> ends_{-1, -1};
  std::uint64_t state_ = 0;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> lost_{0};
  std::thread box_;
};

}  // namespace heddle::test
