// SPDX-License-Identifier: MIT
// The frames of WebSocket (RFC 6455 section 5): reads them from bytes as they come, and writes
// their heads. It knows no connection: frames that were split anywhere, or that are malformed, are
// found here, and the caller does the waiting.
//
// For the parts of the library that speak WebSocket; not for programs: it may change in any
// version.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "heddle/base/detail/legal_move.hh"
#include "heddle/http/detail/utf8_check.hh"

namespace heddle::http {

/// The opcodes of RFC 6455 section 5.2.
enum class websocket_opcode : std::uint8_t {
  continuation = 0,
  text = 1,
  binary = 2,
  close = 8,
  ping = 9,
  pong = 10,
};

/// The codes of a close frame (RFC 6455 section 7.4.1).
struct websocket_code {
  static constexpr std::uint16_t going_away = 1001;
  static constexpr std::uint16_t protocol_error = 1002;
  static constexpr std::uint16_t none = 1005;      ///< a close frame without a code
  static constexpr std::uint16_t abnormal = 1006;  ///< no close frame
  static constexpr std::uint16_t bad_text = 1007;
  static constexpr std::uint16_t too_big = 1009;
};

inline constexpr std::size_t websocket_control_bytes_max = 125;  // RFC 6455 section 5.5
inline constexpr std::size_t websocket_head_bytes_max = 14;

/// The head of a frame, at most 14 bytes.
struct websocket_head {
  char bytes[websocket_head_bytes_max];
  std::size_t size = 0;
  [[nodiscard]] std::string_view text() const noexcept { return {bytes, size}; }
};
/// Makes the head of a frame. `mask` is written if `masked`; see mask_websocket().
[[nodiscard]] websocket_head make_websocket_head(websocket_opcode what, bool last, bool compressed,
                                                 std::uint64_t length, bool masked,
                                                 std::uint32_t mask) noexcept;
/// Masks bytes, or unmasks them, in place. `mask` is in the order of its bytes on the wire; `at` is
/// how far into the frame's payload the bytes begin.
void mask_websocket(char* bytes, std::size_t size, std::uint32_t mask, std::uint64_t at) noexcept;

enum class inflate_outcome : std::uint8_t { whole, too_big, malformed };
/// Replaces a message by what it unpacks to, which has at most `bytes_max` bytes.
using inflate_message = inflate_outcome(std::string& message, std::uint64_t bytes_max);

struct websocket_bounds {
  std::uint64_t message_bytes_max;
  std::uint32_t fragments_max;
  bool from_client;  ///< frames must be masked; those of a server must not
  /// If not null, RSV1 may be set on the first frame of a message (RFC 7692), which this unpacks.
  inflate_message* inflate;
};

/// The part of a frame that comes next. `ended`: no frame comes behind a close frame or an error.
enum class websocket_part : std::uint8_t { head, payload, ended };

[[nodiscard]] constexpr bool is_legal(websocket_part from, websocket_part to) noexcept {
  return from != websocket_part::ended && from != to;
}

/// Thread: one at a time. Owns: the message under way.
class websocket_reader {
 public:
  enum class event : std::uint8_t {
    more,     ///< all bytes are taken; more are needed
    message,  ///< take_message()
    ping,     ///< control() is its payload
    pong,
    close,   ///< code() and control(), which is the reason; no frame comes behind it
    failed,  ///< code() is what to close with, why() the reason in words
  };

  explicit websocket_reader(websocket_bounds bounds) noexcept : bounds_(bounds) {}

  /// Takes bytes off the front of `in` until something is whole; these bytes are unmasked in
  /// place.
  [[nodiscard]] event read(std::span<char>& in);

  [[nodiscard]] bool is_text() const noexcept { return text_; }
  /// Whether it came compressed; take_message() gives it unpacked.
  [[nodiscard]] bool is_compressed() const noexcept { return compressed_; }
  [[nodiscard]] std::string take_message() noexcept;
  [[nodiscard]] std::string_view control() const noexcept {
    return std::string_view(control_).substr(control_from_);
  }
  [[nodiscard]] std::uint16_t code() const noexcept { return code_; }
  [[nodiscard]] std::string_view why() const noexcept { return why_; }

 private:
  [[nodiscard]] bool take_head(std::span<char>& in);
  [[nodiscard]] event begin_frame();
  [[nodiscard]] event end_frame();
  [[nodiscard]] event end_message();
  [[nodiscard]] event end_close();
  [[nodiscard]] event fail(std::uint16_t code, std::string_view why) noexcept;
  [[nodiscard]] bool is_control() const noexcept { return (opcode_ & 8) != 0; }
  void move_to(websocket_part next) noexcept {
    check_move(next_, next);
    next_ = next;
  }

  websocket_bounds bounds_;
  std::string message_;
  std::uint64_t left_ = 0;  // bytes of the frame's payload that are still to come
  std::uint64_t at_ = 0;    // into the frame's payload
  std::string_view why_;
  std::uint32_t mask_ = 0;
  std::uint32_t fragments_ = 0;
  utf8_check utf8_;
  std::uint16_t code_ = 0;
  std::uint8_t head_size_ = 0;
  std::uint8_t opcode_ = 0;  // the opcode of the frame
  std::uint8_t control_from_ = 0;
  websocket_part next_ = websocket_part::head;
  bool last_ = false;
  bool in_message_ = false;  // a frame of a message has come that was not its last
  bool text_ = false;
  bool compressed_ = false;
  unsigned char head_[websocket_head_bytes_max] = {};
  std::string control_;  // the payload of a control frame
};

/// Whether a close frame may carry this code (RFC 6455 section 7.4).
[[nodiscard]] bool websocket_code_valid(std::uint16_t code) noexcept;

}  // namespace heddle::http
