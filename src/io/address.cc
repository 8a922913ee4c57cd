// SPDX-License-Identifier: MIT
// Addresses from text and back, and to and from the system's form.
#include "heddle/io/address.hh"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include <charconv>

namespace heddle {
namespace {

std::unexpected<std::error_code> bad() {
  return std::unexpected(std::make_error_code(std::errc::invalid_argument));
}

template <class Native>
Native& as(unsigned char* bytes) {
  return *reinterpret_cast<Native*>(bytes);
}
template <class Native>
const Native& as(const unsigned char* bytes) {
  return *reinterpret_cast<const Native*>(bytes);
}

bool parse_number(std::string_view text, unsigned max, unsigned& out) {
  if (text.empty()) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && out <= max;
}

void append_number(std::string& out, std::uint32_t number) {
  char digits[10];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

}  // namespace

address address::any(std::uint16_t port) noexcept {
  address a;
  auto& native = as<sockaddr_in6>(a.bytes_);
  native.sin6_family = AF_INET6;
  native.sin6_port = htons(port);
  a.len_ = sizeof native;
  return a;
}

address address::any_v4(std::uint16_t port) noexcept {
  address a;
  auto& native = as<sockaddr_in>(a.bytes_);
  native.sin_family = AF_INET;
  native.sin_port = htons(port);
  a.len_ = sizeof native;
  return a;
}

address address::loopback(std::uint16_t port) noexcept {
  address a = any_v4(port);
  as<sockaddr_in>(a.bytes_).sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return a;
}

bool address::is_loopback() const noexcept {
  constexpr unsigned loopback_net = 127;
  if (is_v4()) return ntohl(as<sockaddr_in>(bytes_).sin_addr.s_addr) >> 24 == loopback_net;
  return is_v6() && IN6_IS_ADDR_LOOPBACK(&as<sockaddr_in6>(bytes_).sin6_addr);
}

address address::loopback_v6(std::uint16_t port) noexcept {
  address a = any(port);
  as<sockaddr_in6>(a.bytes_).sin6_addr = in6addr_loopback;
  return a;
}

result<address> address::parse(std::string_view text, std::uint16_t default_port) noexcept {
  std::string_view host = text, port;
  bool has_port = false;
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string_view::npos) return bad();
    host = text.substr(1, close - 1);
    const std::string_view rest = text.substr(close + 1);
    has_port = rest.starts_with(':');
    if (!rest.empty() && !has_port) return bad();
    if (host.find(':') == std::string_view::npos) return bad();
    if (has_port) port = rest.substr(1);
  } else if (const auto colon = text.find(':');
             colon != std::string_view::npos && colon == text.rfind(':')) {
    has_port = true;
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
  }
  unsigned number = default_port;
  if (has_port && !parse_number(port, 65535, number)) return bad();

  char name[INET6_ADDRSTRLEN + 1] = {};
  unsigned scope = 0;
  if (const auto percent = host.find('%'); percent != std::string_view::npos) {
    const std::string_view zone = host.substr(percent + 1);
    if (!parse_number(zone, ~0u, scope)) return bad();
    host = host.substr(0, percent);
  }
  if (host.size() >= sizeof name) return bad();
  std::memcpy(name, host.data(), host.size());

  address v4 = any_v4(static_cast<std::uint16_t>(number));
  if (scope == 0 && ::inet_pton(AF_INET, name, &as<sockaddr_in>(v4.bytes_).sin_addr) == 1)
    return v4;
  address v6 = any(static_cast<std::uint16_t>(number));
  if (::inet_pton(AF_INET6, name, &as<sockaddr_in6>(v6.bytes_).sin6_addr) != 1) return bad();
  as<sockaddr_in6>(v6.bytes_).sin6_scope_id = scope;
  return v6;
}

result<address> address::from(const ::sockaddr* native, unsigned len) noexcept {
  address a;
  if (native->sa_family == AF_INET && len >= sizeof(sockaddr_in)) {
    const auto& in = *reinterpret_cast<const sockaddr_in*>(native);
    a = any_v4(ntohs(in.sin_port));
    as<sockaddr_in>(a.bytes_).sin_addr = in.sin_addr;
    return a;
  }
  if (native->sa_family == AF_INET6 && len >= sizeof(sockaddr_in6)) {
    const auto& in = *reinterpret_cast<const sockaddr_in6*>(native);
    a = any(ntohs(in.sin6_port));
    as<sockaddr_in6>(a.bytes_).sin6_addr = in.sin6_addr;
    as<sockaddr_in6>(a.bytes_).sin6_scope_id = in.sin6_scope_id;
    return a;
  }
  return std::unexpected(std::make_error_code(std::errc::address_family_not_supported));
}

int address::family() const noexcept { return len_ == 0 ? 0 : native()->sa_family; }
bool address::is_v4() const noexcept { return family() == AF_INET; }
bool address::is_v6() const noexcept { return family() == AF_INET6; }

// The port has the same offset in both forms.
static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));

std::uint16_t address::port() const noexcept { return ntohs(as<sockaddr_in>(bytes_).sin_port); }

address address::with_port(std::uint16_t port) const noexcept {
  address a = *this;
  as<sockaddr_in>(a.bytes_).sin_port = htons(port);
  return a;
}

address address::unmapped() const noexcept {
  if (!is_v6()) return *this;
  const auto& native = as<sockaddr_in6>(bytes_);
  if (!IN6_IS_ADDR_V4MAPPED(&native.sin6_addr)) return *this;
  address v4 = any_v4(port());
  std::memcpy(&as<sockaddr_in>(v4.bytes_).sin_addr, native.sin6_addr.s6_addr + 12, 4);
  return v4;
}

std::string address::host() const {
  std::string text;
  append_host(text);
  return text;
}

std::string address::to_string() const {
  std::string text;
  append_to(text);
  return text;
}

void address::append_host(std::string& out) const {
  if (is_v4()) {  // by hand: a line of each access log has one
    std::uint8_t parts[4];
    std::memcpy(parts, &as<sockaddr_in>(bytes_).sin_addr, sizeof parts);
    for (std::size_t i = 0; i < 4; ++i) {
      if (i != 0) out += '.';
      append_number(out, parts[i]);
    }
    return;
  }
  if (!is_v6()) return;
  const auto& native = as<sockaddr_in6>(bytes_);
  char text[INET6_ADDRSTRLEN] = {};
  ::inet_ntop(AF_INET6, &native.sin6_addr, text, sizeof text);
  out += text;
  if (native.sin6_scope_id == 0) return;
  out += '%';
  append_number(out, native.sin6_scope_id);
}

void address::append_to(std::string& out) const {
  if (len_ == 0) return;
  if (is_v6()) out += '[';
  append_host(out);
  if (is_v6()) out += ']';
  out += ':';
  append_number(out, port());
}

}  // namespace heddle
