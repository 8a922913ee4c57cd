// SPDX-License-Identifier: MIT
// The choice of a provider by a text, and the check of the address in it.
#include <charconv>
#include <cstdlib>

#include "heddle/base/error.hh"
#include "heddle/core/worker.hh"
#include "heddle/net/choice.hh"
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

[[nodiscard]] std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

/// The number in a text that is within the bounds; else 0, with the reason in `trouble`.
[[nodiscard]] std::uint64_t number_within(std::string_view digits, std::string_view whole,
                                          std::uint64_t least, std::uint64_t most, unsigned shift,
                                          std::string_view what, std::string& trouble) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    trouble = quoted(whole) + " is no " + std::string(what);
    return 0;
  }
  if (value > most >> shift || value << shift < least) {
    trouble =
        quoted(whole) + " is not from " + std::to_string(least) + " to " + std::to_string(most);
    return 0;
  }
  return value << shift;
}

[[nodiscard]] std::uint64_t size_within(std::string_view text, std::uint64_t least,
                                        std::uint64_t most, std::string& trouble) {
  std::string_view digits = text;
  unsigned shift = 0;
  constexpr std::string_view letters = "KMG";
  if (!text.empty()) {
    const std::size_t at = letters.find(static_cast<char>(text.back() & ~0x20));
    if (at != letters.npos) {
      shift = static_cast<unsigned>(at + 1) * 10;
      digits.remove_suffix(1);
    }
  }
  return number_within(digits, text, least, most, shift, "size; write 512, 16K, 64M or 2G",
                       trouble);
}

/// Sets a part that comes after the address: memory=64M and so on.
void set_part(choice& c, std::string_view text) {
  constexpr std::uint64_t least = 65536, most = std::uint64_t{1} << 40;
  constexpr std::uint64_t least_trace = 4096, most_dumped = 100'000;
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  const std::string_view value = equals == text.npos ? "" : text.substr(equals + 1);
  if (name == "memory") {
    c.memory = size_within(value, least, most, c.trouble);
  } else if (name == "shard-memory") {
    c.user->stack.memory_bytes = size_within(value, least, most, c.trouble);
  } else if (name == "full" && (value == "wait" || value == "refuse")) {
    c.user->stack.when_full =
        value == "refuse" ? tcp::memory_policy::refuse : tcp::memory_policy::wait;
  } else if (name == "dump") {
    c.user->stack.dump_connections_max = static_cast<std::uint32_t>(
        number_within(value, value, 0, most_dumped, 0, "number of connections", c.trouble));
  } else if (name == "trace" && !value.empty()) {
    c.user->trace = value;
  } else if (name == "trace-size") {
    c.user->trace_bytes_max = size_within(value, least_trace, most, c.trouble);
  } else {
    c.trouble = quoted(text) +
                " is no part of a network; after the address there may be memory=SIZE, "
                "shard-memory=SIZE, full=wait or full=refuse, dump=CONNECTIONS, trace=FILE and "
                "trace-size=SIZE";
  }
}

}  // namespace

std::string address_trouble(std::string_view own_address) {
  const std::string shown = quoted(own_address);
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

choice read_choice(std::string_view text) {
  choice made;
  if (text == "kernel") return made;
  constexpr std::string_view prefix = "user:";
  const std::size_t comma = text.find(',');
  const std::string_view rest = comma == text.npos ? "" : text.substr(comma + 1);
  const std::string_view address = rest.substr(0, rest.find(','));
  const bool parses = tcp::ip_address::parse(address.substr(0, address.find('/'))).has_value();
  if (!text.starts_with(prefix) || comma <= prefix.size() || !parses) {
    made.trouble = quoted(text) +
                   " is no network; write kernel, or user:DEVICE,ADDRESS, for example "
                   "user:tun0,10.9.0.2/24";
    return made;
  }
  made.trouble = address_trouble(address);
  made.user.emplace();
  made.user->device = text.substr(prefix.size(), comma - prefix.size());
  made.user->address = address;
  for (std::string_view more = rest.substr(address.size());
       !more.empty() && made.trouble.empty();) {
    more.remove_prefix(1);
    const std::string_view one = more.substr(0, more.find(','));
    set_part(made, one);
    more.remove_prefix(one.size());
  }
  return made;
}

provider by_name(std::string_view text) {
  choice wanted = read_choice(text);
  if (!wanted.trouble.empty())
    throw failure(std::make_error_code(std::errc::invalid_argument), wanted.trouble);
  if (!wanted.user) return kernel();
  user_options& o = *wanted.user;
  if (wanted.memory != 0)
    o.stack.process_memory = std::make_shared<tcp::memory_budget>(wanted.memory);
  const std::uint32_t number = worker::here().index;
  if (!o.trace.empty() && number != 0) o.trace += "." + std::to_string(number);
  return user(o);
}

provider from_environment() {
  const char* const text = std::getenv("HEDDLE_NET");
  return text == nullptr || *text == 0 ? kernel() : by_name(text);
}

}  // namespace heddle::net
