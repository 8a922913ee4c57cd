// SPDX-License-Identifier: MIT
// tamer's names: gethostbyname and gethostbyaddr as events. The system's resolver answers, on a
// thread of the pool for calls that block; so name servers, search domains and hosts files are
// those of the machine.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tamer/event.hh"

// Flags of queries and resolvers. They are taken and change nothing: the machine's settings count.
#define DNS_QUERY_UDP 0
#define DNS_QUERY_TCP 1
#define DNS_QUERY_SEARCH 0
#define DNS_QUERY_NO_SEARCH 1
#define DNS_OPTION_SEARCH 1
#define DNS_OPTION_NAMESERVERS 2
#define DNS_OPTION_MISC 4
#define DNS_OPTIONS_ALL 7

#define DNS_ERR_NONE 0
#define DNS_ERR_FORMAT 1
#define DNS_ERR_SERVERFAILED 2
#define DNS_ERR_NOTEXIST 3
#define DNS_ERR_NOTIMPL 4
#define DNS_ERR_REFUSED 5
#define DNS_ERR_TRUNCATED 65
#define DNS_ERR_UNKNOWN 66
#define DNS_ERR_TIMEOUT 67
#define DNS_ERR_SHUTDOWN 68

namespace tamer {

namespace dns {

/// The answer to a look-up; copies share it. It tests false when there is none, or an error.
class reply {
 public:
  struct answer {
    std::string name;                  ///< the name of an address
    std::vector<std::uint32_t> addrs;  ///< addresses of a name: version 4, in network byte order
    int err = DNS_ERR_NONE;
    explicit operator bool() const noexcept { return err == DNS_ERR_NONE; }
  };

  reply() noexcept = default;
  explicit reply(answer a) : answer_(std::make_shared<const answer>(std::move(a))) {}

  [[nodiscard]] explicit operator bool() const noexcept { return error() == DNS_ERR_NONE; }
  [[nodiscard]] bool operator!() const noexcept { return error() != DNS_ERR_NONE; }
  /// DNS_ERR_NONE, another DNS_ERR_ code, or -1 when no answer has come.
  [[nodiscard]] int error() const noexcept { return answer_ == nullptr ? -1 : answer_->err; }
  [[nodiscard]] int addrcount() const noexcept {
    return answer_ == nullptr ? 0 : static_cast<int>(answer_->addrs.size());
  }
  /// The address of this index; 0 if there is none.
  [[nodiscard]] std::uint32_t operator[](int i) const noexcept {
    return i >= 0 && i < addrcount() ? answer_->addrs[static_cast<std::size_t>(i)] : 0;
  }
  [[nodiscard]] std::string name() const {
    return answer_ == nullptr ? std::string() : answer_->name;
  }
  const answer* operator->() const noexcept { return answer_.get(); }
  const answer& operator*() const noexcept { return *answer_; }

 private:
  std::shared_ptr<const answer> answer_;
};

/// Thread: the runtime's.
/// Cancel: when the event becomes empty, the answer is discarded.
/// Fails: the reply's error().
class resolver {
 public:
  explicit resolver(int flags = DNS_OPTIONS_ALL,
                    [[maybe_unused]] const std::string& settings = "/etc/resolv.conf")
      : flags_(flags) {}

  [[nodiscard]] explicit operator bool() const noexcept { return true; }
  [[nodiscard]] bool operator!() const noexcept { return false; }
  [[nodiscard]] int error() const noexcept { return 0; }
  [[nodiscard]] int flags() const noexcept { return flags_; }

  void resolve_ipv4(std::string name, int query_flags, event<reply> done);
  void resolve_reverse(in_addr address, event<reply> done);

 private:
  int flags_;
};

}  // namespace dns

using dns::resolver;

/// The version 4 addresses of a host.
void gethostbyname(std::string name, int flags, event<dns::reply> done);
void gethostbyname(std::string name, event<dns::reply> done);
/// The name of an address, which is copied before this returns.
void gethostbyaddr(const in_addr* address, event<dns::reply> done);

}  // namespace tamer
