// SPDX-License-Identifier: MIT
// Bytes of frames, in both directions.
#include "heddle/http/detail/http2_frame.hh"

#include <algorithm>
#include <array>

namespace heddle::http {

std::uint32_t http2_number(std::string_view four_bytes) noexcept {
  std::uint32_t number = 0;
  for (int i = 0; i < 4; ++i) number = number << 8 | static_cast<unsigned char>(four_bytes[i]);
  return number;
}

void put_http2_number(std::string& out, std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(number >> shift));
}

http2_frame_head read_http2_head(std::string_view bytes) noexcept {
  const auto at = [&](int i) { return static_cast<unsigned char>(bytes[i]); };
  http2_frame_head head;
  head.length = std::uint32_t{at(0)} << 16 | std::uint32_t{at(1)} << 8 | at(2);
  head.type = static_cast<http2_type>(at(3));
  head.flags = at(4);
  head.stream = http2_number(bytes.substr(5)) & 0x7fffffffu;
  return head;
}

namespace {

std::array<char, http2_head_bytes> head_bytes(std::size_t length, http2_type type,
                                              std::uint8_t flags, std::uint32_t stream) noexcept {
  return {static_cast<char>(length >> 16), static_cast<char>(length >> 8),
          static_cast<char>(length),       static_cast<char>(type),
          static_cast<char>(flags),        static_cast<char>(stream >> 24),
          static_cast<char>(stream >> 16), static_cast<char>(stream >> 8),
          static_cast<char>(stream)};
}

}  // namespace

void put_http2_head(std::string& out, std::size_t length, http2_type type, std::uint8_t flags,
                    std::uint32_t stream) {
  const auto bytes = head_bytes(length, type, flags, stream);
  out.append(bytes.data(), bytes.size());
}

void put_rst_stream(std::string& out, std::uint32_t stream, http2_error why) {
  put_http2_head(out, 4, http2_type::rst_stream, 0, stream);
  put_http2_number(out, static_cast<std::uint32_t>(why));
}

void put_goaway(std::string& out, std::uint32_t last_stream, http2_error why,
                std::string_view debug) {
  put_http2_head(out, 8 + debug.size(), http2_type::goaway, 0, 0);
  put_http2_number(out, last_stream);
  put_http2_number(out, static_cast<std::uint32_t>(why));
  out.append(debug);
}

void put_window_update(std::string& out, std::uint32_t stream, std::uint32_t bytes) {
  put_http2_head(out, 4, http2_type::window_update, 0, stream);
  put_http2_number(out, bytes);
}

void put_setting(std::string& payload, http2_setting name, std::uint32_t value) {
  payload.push_back(static_cast<char>(static_cast<unsigned>(name) >> 8));
  payload.push_back(static_cast<char>(name));
  put_http2_number(payload, value);
}

void put_header_block(std::string& out, std::string_view block, std::uint32_t stream, bool ends) {
  auto type = http2_type::headers;
  std::uint8_t flags = ends ? http2_flag::end_stream : 0;
  do {
    const std::string_view part = block.substr(0, http2_frame_bytes_max);
    block.remove_prefix(part.size());
    if (block.empty()) flags |= http2_flag::end_headers;
    put_http2_head(out, part.size(), type, flags, stream);
    out.append(part);
    type = http2_type::continuation;
    flags = 0;
  } while (!block.empty());
}

void detail::end_header_block(std::string& out, std::size_t at, std::uint32_t stream, bool ends) {
  const std::size_t length = out.size() - at - http2_head_bytes;
  if (length > http2_frame_bytes_max) [[unlikely]] {
    const std::string block = out.substr(at + http2_head_bytes);
    out.resize(at);
    return put_header_block(out, block, stream, ends);
  }
  const auto flags =
      static_cast<std::uint8_t>(http2_flag::end_headers | (ends ? http2_flag::end_stream : 0));
  std::ranges::copy(head_bytes(length, http2_type::headers, flags, stream),
                    out.begin() + static_cast<std::ptrdiff_t>(at));
}

bool take_padding(const http2_frame_head& head, std::string_view& payload) noexcept {
  if (!head.has(http2_flag::padded)) return true;
  if (payload.empty()) return false;
  const auto pad = static_cast<unsigned char>(payload.front());
  payload.remove_prefix(1);
  if (pad > payload.size()) return false;
  payload.remove_suffix(pad);
  return true;
}

}  // namespace heddle::http
