// SPDX-License-Identifier: MIT
// The choice of a provider by a text, and the check of the address in it.
#include <charconv>
#include <cstdlib>

#include "heddle/base/error.hh"
#include "heddle/net/provider.hh"
#include "heddle/tcp/address.hh"

namespace heddle::net {
namespace {

/// Whether the bits of an address behind its prefix are all 0 (the network itself) or all 1.
[[nodiscard]] bool host_bits_are(const tcp::ip_address& a, unsigned prefix, bool ones) noexcept {
  const unsigned first = a.is_v4() ? 96 : 0;
  for (unsigned i = first + prefix; i != 128; ++i)
    if (((a.bytes[i / 8] >> (7 - i % 8) & 1) != 0) != ones) return false;
  return true;
}

}  // namespace

std::string address_trouble(std::string_view own_address) {
  const std::string shown = "'" + std::string(own_address) + "'";
  const std::size_t slash = own_address.find('/');
  const auto own = tcp::ip_address::parse(own_address.substr(0, slash));
  if (!own) return shown + " is no address; write 10.9.0.2/24, say";
  if (!own->is_unicast() || own->is_loopback())
    return shown + " is no address of a host; choose one of a private network, 10.9.0.2/24, say";
  if (slash == own_address.npos) return {};
  const std::string_view length = own_address.substr(slash + 1);
  const unsigned most = own->is_v4() ? 32 : 128;
  unsigned prefix = 0;
  const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), prefix);
  if (error != std::errc() || end != length.data() + length.size() || prefix == 0 || prefix > most)
    return shown + ": the length of the network is 1 to " + std::to_string(most) +
           ", as in 10.9.0.2/24";
  // A network of two hosts has neither (RFC 3021, RFC 6164).
  if (prefix + 1 >= most) return {};
  if (host_bits_are(*own, prefix, false))
    return shown + " is the address of the network itself; choose another one of it";
  if (own->is_v4() && host_bits_are(*own, prefix, true))
    return shown + " is the broadcast address of its network; choose another one of it";
  return {};
}

provider by_name(std::string_view text) {
  if (text == "kernel") return kernel();
  constexpr std::string_view prefix = "user:";
  const std::size_t comma = text.find(',');
  if (!text.starts_with(prefix) || comma == text.npos || comma == prefix.size())
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "'" + std::string(text) +
                      "' is no network; write kernel, or user:DEVICE,ADDRESS, for example "
                      "user:tun0,10.9.0.2/24");
  return user({.device = std::string(text.substr(prefix.size(), comma - prefix.size())),
               .address = std::string(text.substr(comma + 1))});
}

provider chosen() {
  const char* const text = std::getenv("HEDDLE_NET");
  return text == nullptr || *text == 0 ? kernel() : by_name(text);
}

}  // namespace heddle::net
