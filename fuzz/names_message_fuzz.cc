// SPDX-License-Identifier: MIT
// Answers of name servers: whatever is read from one has to belong to the question, to be within
// the limits, and to be an address that c-ares' own reader finds, too. The first byte chooses the
// type and whether EDNS was sent; the rest is the message.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "names/message.hh"

#if HEDDLE_WITH_CARES
#include <ares.h>
#include <netdb.h>
#include <netinet/in.h>

namespace {

using namespace heddle;
using namespace heddle::names::detail;

void demand(bool condition) {
  if (!condition) std::abort();
}

constexpr int found_max = 8192;  // more than a message has room for

/// Whether c-ares finds this address. It depends on the order of aliases, so it is only asked about
/// messages without them.
bool found_by_cares(std::span<const std::byte> message, const address& a) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(message.data());
  const int size = static_cast<int>(message.size());
  int count = found_max;
  ::hostent* host = nullptr;
  std::vector<ares_addrttl> four(found_max);
  std::vector<ares_addr6ttl> six(found_max);
  const int code = a.is_v4() ? ::ares_parse_a_reply(bytes, size, &host, four.data(), &count)
                             : ::ares_parse_aaaa_reply(bytes, size, &host, six.data(), &count);
  if (code != ARES_SUCCESS) return true;
  const bool aliases = host->h_aliases[0] != nullptr;
  ::ares_free_hostent(host);
  if (aliases) return true;
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const auto* v4 = reinterpret_cast<const ::sockaddr_in*>(a.native());
    const auto* v6 = reinterpret_cast<const ::sockaddr_in6*>(a.native());
    if (a.is_v4() ? std::memcmp(&four[at].ipaddr, &v4->sin_addr, 4) == 0
                  : std::memcmp(&six[at].ip6addr, &v6->sin6_addr, 16) == 0)
      return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  question q;
  q.name = "a.test";
  q.type = (data[0] & 1) != 0 ? record_type::aaaa : record_type::a;
  q.id = static_cast<std::uint16_t>(data[1] << 8 | data[2]);
  reply_limits limits;
  limits.addresses_max = 1 + (data[0] >> 4);
  limits.edns_sent = (data[0] & 2) != 0;
  const std::span<const std::byte> message(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  const reply r = read_reply(message, q, limits);
  using kind = reply::kind;
  demand((r.is == kind::addresses) == !r.addresses.empty() || r.is == kind::damaged);
  demand((r.is == kind::failed || r.is == kind::damaged) ? !r.why.empty() : true);
  demand(r.is != kind::no_edns || limits.edns_sent);
  demand(r.addresses.size() <= limits.addresses_max);
  for (const address& a : r.addresses) {
    demand(a.is_v4() == (q.type == record_type::a));
    demand(std::ranges::count(r.addresses, a) == 1);
    if (r.is == kind::addresses) demand(found_by_cares(message, a));
  }
  // Another id, and it is no answer.
  q.id = static_cast<std::uint16_t>(q.id + 1);
  demand(read_reply(message, q, limits).is == kind::mismatch);
  return 0;
}

#else

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t*, std::size_t) { return 0; }

#endif
