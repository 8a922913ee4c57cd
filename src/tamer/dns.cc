// SPDX-License-Identifier: MIT
// Look-ups of names: tasks of the runtime that answer with an event.
#include "tamer/dns.hh"

#include <netdb.h>
#include <sys/socket.h>

#include <cstring>

#include "heddle/core/expected.hh"
#include "heddle/core/start.hh"
#include "heddle/io/blocking.hh"
#include "heddle/io/resolve.hh"

namespace tamer {
namespace {

dns::reply failed_reply(int code) { return dns::reply({.name = {}, .addrs = {}, .err = code}); }

int dns_error(int resolver_code) noexcept {
  switch (resolver_code) {
    case EAI_NONAME:
    case EAI_NODATA:
    case EAI_ADDRFAMILY:
      return DNS_ERR_NOTEXIST;
    case EAI_AGAIN:
      return DNS_ERR_TIMEOUT;
    case EAI_FAIL:
      return DNS_ERR_SERVERFAILED;
    default:
      return DNS_ERR_UNKNOWN;
  }
}
int dns_error(std::error_code e) noexcept {
  if (e.category() == heddle::resolver_category()) return dns_error(e.value());
  return e == std::errc::operation_canceled ? DNS_ERR_SHUTDOWN : DNS_ERR_UNKNOWN;
}

heddle::task<dns::reply> look_up_name(std::string name) {
  const auto found = co_await heddle::as_expected(
      heddle::resolve(std::move(name), "0", {.family = heddle::address_family::v4}));
  if (!found) co_return failed_reply(dns_error(found.error()));
  dns::reply::answer a;
  for (const heddle::address& one : *found) {
    sockaddr_in native{};
    std::memcpy(&native, one.native(), sizeof native);
    a.addrs.push_back(native.sin_addr.s_addr);
  }
  co_return dns::reply(std::move(a));
}

dns::reply ask_for_name(in_addr address) {
  sockaddr_in native{};
  native.sin_family = AF_INET;
  native.sin_addr = address;
  char name[NI_MAXHOST];
  const int code = ::getnameinfo(reinterpret_cast<const sockaddr*>(&native), sizeof native, name,
                                 sizeof name, nullptr, 0, NI_NAMEREQD);
  if (code != 0) return failed_reply(dns_error(code));
  return dns::reply({.name = name, .addrs = {}});
}

heddle::task<dns::reply> look_up_address(in_addr address) {
  const auto found = co_await heddle::as_expected(heddle::blocking(&ask_for_name, address));
  co_return found ? *found : failed_reply(dns_error(found.error()));
}

}  // namespace

void dns::resolver::resolve_ipv4(std::string name, int, event<reply> done) {
  heddle::start(look_up_name(std::move(name)), std::move(done));
}
void dns::resolver::resolve_reverse(in_addr address, event<reply> done) {
  heddle::start(look_up_address(address), std::move(done));
}

void gethostbyname(std::string name, int flags, event<dns::reply> done) {
  dns::resolver().resolve_ipv4(std::move(name), flags, std::move(done));
}
void gethostbyname(std::string name, event<dns::reply> done) {
  gethostbyname(std::move(name), DNS_QUERY_SEARCH, std::move(done));
}
void gethostbyaddr(const in_addr* address, event<dns::reply> done) {
  dns::resolver().resolve_reverse(*address, std::move(done));
}

}  // namespace tamer
