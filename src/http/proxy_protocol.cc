// SPDX-License-Identifier: MIT
// Parses and writes the header of the PROXY protocol.
#include "heddle/http/proxy_protocol.hh"

#include <netinet/in.h>

#include <charconv>
#include <cstring>

namespace heddle::http {
namespace {

constexpr std::string_view signature("\r\n\r\n\0\r\nQUIT\n", 12);
constexpr std::string_view word = "PROXY ";
constexpr std::size_t line_bytes_max = 107;  // section 2.1, the line end included
constexpr std::size_t fixed_bytes = 16;      // the head of version 2, without addresses
constexpr std::uint8_t type_crc32c = 0x03;
constexpr std::uint8_t command_local = 0x20, command_proxy = 0x21;

using enum proxy_header_state;

unsigned byte_at(std::string_view bytes, std::size_t i) noexcept {
  return static_cast<unsigned char>(bytes[i]);
}
unsigned big16(std::string_view bytes, std::size_t i) noexcept {
  return byte_at(bytes, i) << 8 | byte_at(bytes, i + 1);
}

// Version 1.

/// Takes a word up to a blank, or the rest.
std::string_view take_word(std::string_view& line) noexcept {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view taken = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return taken;
}

bool read_port(std::string_view text, std::uint16_t& port) noexcept {
  if (text.empty() || text.size() > 5 || (text.size() > 1 && text[0] == '0')) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size();
}

/// Reads the plain form of an address: no port, no brackets, no zone.
bool read_address(std::string_view text, bool v6, address& into) noexcept {
  const std::string_view allowed = v6 ? "0123456789abcdefABCDEF:." : "0123456789.";
  if (text.empty() || text.find_first_not_of(allowed) != text.npos) return false;
  const auto found = address::parse(text);
  if (!found || found->is_v6() != v6) return false;
  into = *found;
  return true;
}

proxy_header_state parse_line(std::string_view bytes, proxy_header& found) {
  // The first line end must be a whole one; its second byte may not have come yet.
  const std::string_view room = bytes.substr(0, line_bytes_max);
  const std::size_t end = room.find_first_of("\r\n");
  if (end == room.npos || end + 1 == room.size()) {
    const bool may_go_on = end == room.npos || room[end] == '\r';
    return may_go_on && room.size() < line_bytes_max ? need_more : failed;
  }
  if (room[end] != '\r' || room[end + 1] != '\n') return failed;
  std::string_view line = bytes.substr(word.size(), end - word.size());
  found.version = 1;
  found.size = end + 2;
  const std::string_view family = take_word(line);
  if (family == "UNKNOWN") return done;  // the rest of the line is ignored
  if (family != "TCP4" && family != "TCP6") return failed;
  const std::string_view client = take_word(line), server = take_word(line);
  const std::string_view client_port = take_word(line);
  std::uint16_t ports[2];
  address ends[2];
  if (!read_address(client, family == "TCP6", ends[0]) ||
      !read_address(server, family == "TCP6", ends[1]) || !read_port(client_port, ports[0]) ||
      !read_port(line, ports[1]))
    return failed;
  found.client = ends[0].with_port(ports[0]);
  found.server = ends[1].with_port(ports[1]);
  return done;
}

// Version 2.

/// CRC32c (RFC 3720 appendix B.4), bit by bit: a header is short, and few carry one.
class crc32c {
 public:
  void add(unsigned byte) noexcept {
    sum_ ^= byte;
    for (int i = 0; i < 8; ++i) sum_ = (sum_ >> 1) ^ (0x82f63b78u & (0u - (sum_ & 1u)));
  }
  [[nodiscard]] std::uint32_t value() const noexcept { return ~sum_; }

 private:
  std::uint32_t sum_ = ~std::uint32_t{0};
};

/// Whether the checksum of 4 bytes at `at` fits. It is computed with these bytes as zeros.
bool sum_fits(std::string_view header, std::size_t at) noexcept {
  crc32c sum;
  for (std::size_t i = 0; i < header.size(); ++i)
    sum.add(i >= at && i < at + 4 ? 0 : byte_at(header, i));
  const std::uint32_t told =
      static_cast<std::uint32_t>(big16(header, at)) << 16 | big16(header, at + 2);
  return told == sum.value();
}

/// Walks the fields behind the addresses. False if they do not fill the header exactly, or if a
/// checksum is wrong.
bool fields_fit(std::string_view header, std::size_t at) noexcept {
  while (at < header.size()) {
    if (header.size() - at < 3) return false;
    const unsigned type = byte_at(header, at), length = big16(header, at + 1);
    at += 3;
    if (header.size() - at < length) return false;
    if (type == type_crc32c && (length != 4 || !sum_fits(header, at))) return false;
    at += length;
  }
  return true;
}

address v4_at(std::string_view bytes, std::size_t host, std::size_t port) noexcept {
  ::sockaddr_in made{};
  made.sin_family = AF_INET;
  std::memcpy(&made.sin_addr, bytes.data() + host, sizeof made.sin_addr);
  std::memcpy(&made.sin_port, bytes.data() + port, sizeof made.sin_port);
  return address::from(reinterpret_cast<const ::sockaddr*>(&made), sizeof made).value_or(address());
}

address v6_at(std::string_view bytes, std::size_t host, std::size_t port) noexcept {
  ::sockaddr_in6 made{};
  made.sin6_family = AF_INET6;
  std::memcpy(&made.sin6_addr, bytes.data() + host, sizeof made.sin6_addr);
  std::memcpy(&made.sin6_port, bytes.data() + port, sizeof made.sin6_port);
  return address::from(reinterpret_cast<const ::sockaddr*>(&made), sizeof made).value_or(address());
}

proxy_header_state parse_binary(std::string_view bytes, proxy_header& found,
                                std::size_t bytes_max) {
  if (bytes.size() > 12 && byte_at(bytes, 12) != command_local &&
      byte_at(bytes, 12) != command_proxy)
    return failed;
  if (bytes.size() < fixed_bytes) return need_more;
  const std::size_t size = fixed_bytes + big16(bytes, 14);
  if (size > bytes_max) return failed;
  // Sizes of the addresses: none, version 4, version 6, Unix sockets.
  constexpr std::size_t sizes[] = {0, 12, 36, 216};
  const unsigned family = byte_at(bytes, 13) >> 4, transport = byte_at(bytes, 13) & 15;
  if (family > 3 || transport > 2) return failed;
  const bool local = byte_at(bytes, 12) == command_local;
  const std::size_t addresses = local && size < fixed_bytes + sizes[family] ? 0 : sizes[family];
  if (size < fixed_bytes + addresses) return failed;
  if (bytes.size() < size) return need_more;
  const std::string_view header = bytes.substr(0, size);
  // Behind the addresses of a family without any (UNSPEC), any bytes are allowed.
  if (!local && family != 0 && !fields_fit(header, fixed_bytes + addresses)) return failed;
  found.version = 2;
  found.size = size;
  if (local || transport != 1) return done;
  if (family == 1) {
    found.client = v4_at(header, 16, 24);
    found.server = v4_at(header, 20, 26);
  } else if (family == 2) {
    found.client = v6_at(header, 16, 48);
    found.server = v6_at(header, 32, 50);
  }
  return done;
}

bool begins_alike(std::string_view bytes, std::string_view whole) noexcept {
  const std::size_t size = std::min(bytes.size(), whole.size());
  return bytes.substr(0, size) == whole.substr(0, size);
}

void append_v4(std::string& out, const address& a) {
  const auto& raw = *reinterpret_cast<const ::sockaddr_in*>(a.native());
  out.append(reinterpret_cast<const char*>(&raw.sin_addr), sizeof raw.sin_addr);
}

void append_v6(std::string& out, const address& a) {
  if (a.is_v4()) {  // ::ffff:192.0.2.1
    out.append(10, '\0').append(2, '\xff');
    append_v4(out, a);
    return;
  }
  const auto& raw = *reinterpret_cast<const ::sockaddr_in6*>(a.native());
  out.append(reinterpret_cast<const char*>(&raw.sin6_addr), sizeof raw.sin6_addr);
}

void append_big16(std::string& out, unsigned value) {
  (out += static_cast<char>(value >> 8)) += static_cast<char>(value & 255);
}

std::string v6_text(const address& a) { return a.is_v4() ? "::ffff:" + a.host() : a.host(); }

}  // namespace

proxy_header_state parse_proxy_header(std::string_view bytes, proxy_header& found,
                                      std::size_t bytes_max) {
  found = {};
  if (begins_alike(bytes, word))
    return bytes.size() < word.size() ? need_more : parse_line(bytes, found);
  if (begins_alike(bytes, signature))
    return bytes.size() < signature.size() ? need_more : parse_binary(bytes, found, bytes_max);
  return failed;
}

std::string proxy_header_text(int version, const address& client, const address& server) {
  const address from = client ? client.unmapped() : client;
  const address to = server ? server.unmapped() : server;
  const bool known = from && to;
  const bool v6 = known && (from.is_v6() || to.is_v6());
  if (version == 1) {
    if (!known) return "PROXY UNKNOWN\r\n";
    const std::string ports =
        ' ' + std::to_string(from.port()) + ' ' + std::to_string(to.port()) + "\r\n";
    return v6 ? "PROXY TCP6 " + v6_text(from) + ' ' + v6_text(to) + ports
              : "PROXY TCP4 " + from.host() + ' ' + to.host() + ports;
  }
  std::string out(signature);
  out += static_cast<char>(known ? command_proxy : command_local);
  out += static_cast<char>(!known ? 0 : v6 ? 0x21 : 0x11);
  append_big16(out, !known ? 0 : v6 ? 36 : 12);
  if (!known) return out;
  for (const address* each : {&from, &to}) v6 ? append_v6(out, *each) : append_v4(out, *each);
  append_big16(out, from.port());
  append_big16(out, to.port());
  return out;
}

}  // namespace heddle::http
