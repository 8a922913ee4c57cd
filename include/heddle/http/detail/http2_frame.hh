// SPDX-License-Identifier: MIT
// Frames of HTTP/2 (RFC 9113 sections 4 and 6): nine bytes of head, and a payload.
//
// For the parts of the library that speak HTTP/2; not for programs: it may change in any version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace heddle::http {

/// The first bytes of a client (section 3.4).
inline constexpr std::string_view http2_preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

enum class http2_type : std::uint8_t {
  data = 0,
  headers = 1,
  priority = 2,
  rst_stream = 3,
  settings = 4,
  push_promise = 5,
  ping = 6,
  goaway = 7,
  window_update = 8,
  continuation = 9,
  priority_update = 16,  // RFC 9218 section 7.1
};

/// The error codes of RFC 9113 section 7.
enum class http2_error : std::uint32_t {
  no_error = 0,
  protocol_error = 1,
  internal_error = 2,
  flow_control_error = 3,
  settings_timeout = 4,
  stream_closed = 5,
  frame_size_error = 6,
  refused_stream = 7,
  cancel = 8,
  compression_error = 9,
  connect_error = 10,
  enhance_your_calm = 11,
  inadequate_security = 12,
  http_1_1_required = 13,
};

/// The settings of RFC 9113 section 6.5.2 and RFC 8441 section 3.
enum class http2_setting : std::uint16_t {
  header_table_size = 1,
  enable_push = 2,
  max_concurrent_streams = 3,
  initial_window_size = 4,
  max_frame_size = 5,
  max_header_list_size = 6,
  enable_connect_protocol = 8,
  no_rfc7540_priorities = 9,
};

namespace http2_flag {
inline constexpr std::uint8_t end_stream = 0x1;
inline constexpr std::uint8_t ack = 0x1;
inline constexpr std::uint8_t end_headers = 0x4;
inline constexpr std::uint8_t padded = 0x8;
inline constexpr std::uint8_t priority = 0x20;
}  // namespace http2_flag

inline constexpr std::size_t http2_head_bytes = 9;
/// The largest frame until the two ends agree on more, which we never do.
inline constexpr std::uint32_t http2_frame_bytes_max = 16384;
inline constexpr std::int64_t http2_window_max = 0x7fffffff;
inline constexpr std::uint32_t http2_first_window = 65535;

struct http2_frame_head {
  std::uint32_t length = 0;
  http2_type type{};
  std::uint8_t flags = 0;
  std::uint32_t stream = 0;
  [[nodiscard]] bool has(std::uint8_t flag) const noexcept { return (flags & flag) != 0; }
};

/// Reads a big-endian number, as frames have them.
[[nodiscard]] std::uint32_t http2_number(std::string_view four_bytes) noexcept;
void put_http2_number(std::string& out, std::uint32_t number);

/// Reads a head from the first nine bytes.
[[nodiscard]] http2_frame_head read_http2_head(std::string_view bytes) noexcept;
void put_http2_head(std::string& out, std::size_t length, http2_type type, std::uint8_t flags,
                    std::uint32_t stream);

void put_rst_stream(std::string& out, std::uint32_t stream, http2_error why);
void put_goaway(std::string& out, std::uint32_t last_stream, http2_error why,
                std::string_view debug);
void put_window_update(std::string& out, std::uint32_t stream, std::uint32_t bytes);
void put_setting(std::string& payload, http2_setting name, std::uint32_t value);
/// Appends a header block in one HEADERS frame, followed by CONTINUATION frames if it is larger.
void put_header_block(std::string& out, std::string_view block, std::uint32_t stream, bool ends);
namespace detail {
/// Makes a header block of the bytes behind the place for a frame's head at `at`.
void end_header_block(std::string& out, std::size_t at, std::uint32_t stream, bool ends);
}  // namespace detail
/// Appends a header block that put(out) appends, without a buffer for it. If it throws,
/// `out` is as it was.
template <class Put>
void put_header_block_by(std::string& out, std::uint32_t stream, bool ends, Put&& put) {
  const std::size_t at = out.size();
  try {
    out.append(http2_head_bytes, '\0');
    put(out);
    detail::end_header_block(out, at, stream, ends);
  } catch (...) {
    out.resize(at);
    throw;
  }
}

/// Takes the padding off a payload (section 6.1). False: there is more padding than payload.
[[nodiscard]] bool take_padding(const http2_frame_head& head, std::string_view& payload) noexcept;

}  // namespace heddle::http
