// SPDX-License-Identifier: MIT
// The machine that reads frames: head, payload, and at its end what the frame means.
#include "heddle/http/detail/websocket_frames.hh"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace heddle::http {
namespace {

constexpr unsigned final_bit = 0x80;
constexpr unsigned rsv1_bit = 0x40;
constexpr unsigned reserved_bits = 0x30;
constexpr unsigned mask_bit = 0x80;
constexpr unsigned length_16 = 126;
constexpr unsigned length_64 = 127;

/// Bytes of a head that begins with these two.
std::size_t head_bytes(unsigned second) noexcept {
  const unsigned length = second & 0x7f;
  return 2u +
         (length == length_64   ? 8u
          : length == length_16 ? 2u
                                : 0u) +
         ((second & mask_bit) != 0 ? 4u : 0u);
}

std::uint64_t number_at(const unsigned char* from, std::size_t bytes) noexcept {
  std::uint64_t n = 0;
  for (std::size_t i = 0; i != bytes; ++i) n = n << 8 | from[i];
  return n;
}

}  // namespace

websocket_head make_websocket_head(websocket_opcode what, bool last, bool compressed,
                                   std::uint64_t length, bool masked, std::uint32_t mask) noexcept {
  websocket_head h;
  const auto put = [&h](unsigned byte) { h.bytes[h.size++] = static_cast<char>(byte); };
  put((last ? final_bit : 0u) | (compressed ? rsv1_bit : 0u) | static_cast<unsigned>(what));
  const unsigned bit = masked ? mask_bit : 0u;
  std::size_t wide = 0;
  if (length < length_16) {
    put(bit | static_cast<unsigned>(length));
  } else if (length <= 0xffff) {
    put(bit | length_16);
    wide = 2;
  } else {
    put(bit | length_64);
    wide = 8;
  }
  for (std::size_t i = wide; i-- != 0;) put(static_cast<unsigned>(length >> (8 * i)) & 0xff);
  if (masked) {
    std::memcpy(h.bytes + h.size, &mask, sizeof mask);
    h.size += sizeof mask;
  }
  return h;
}

void mask_websocket(char* bytes, std::size_t size, std::uint32_t mask, std::uint64_t at) noexcept {
  unsigned char key[4];
  std::memcpy(key, &mask, sizeof key);
  std::size_t i = 0;
  const std::uint64_t turned = static_cast<std::uint64_t>(key[at & 3]) |
                               static_cast<std::uint64_t>(key[(at + 1) & 3]) << 8 |
                               static_cast<std::uint64_t>(key[(at + 2) & 3]) << 16 |
                               static_cast<std::uint64_t>(key[(at + 3) & 3]) << 24;
  static_assert(std::endian::native == std::endian::little);
  const std::uint64_t eight = turned | turned << 32;
  for (std::uint64_t word = 0; i + sizeof word <= size; i += sizeof word) {
    std::memcpy(&word, bytes + i, sizeof word);
    word ^= eight;
    std::memcpy(bytes + i, &word, sizeof word);
  }
  for (; i != size; ++i) bytes[i] = static_cast<char>(bytes[i] ^ key[(at + i) & 3]);
}

bool websocket_code_valid(std::uint16_t code) noexcept {
  if (code >= 3000 && code <= 4999) return true;
  return code >= 1000 && code <= 1014 && code != 1004 && code != websocket_code::none &&
         code != 1006;
}

std::string websocket_reader::take_message() noexcept { return std::exchange(message_, {}); }

websocket_reader::event websocket_reader::fail(std::uint16_t code, std::string_view why) noexcept {
  move_to(websocket_part::ended);
  code_ = code;
  why_ = why;
  message_ = {};
  return event::failed;
}

/// Whether the head is whole.
bool websocket_reader::take_head(std::span<char>& in) {
  while (!in.empty()) {
    head_[head_size_++] = static_cast<unsigned char>(in.front());
    in = in.subspan(1);
    if (head_size_ >= 2 && head_size_ == head_bytes(head_[1])) return true;
  }
  return false;
}

websocket_reader::event websocket_reader::begin_frame() {
  const unsigned first = head_[0];
  const unsigned second = head_[1];
  const std::size_t size = std::exchange(head_size_, std::uint8_t{0});
  last_ = (first & final_bit) != 0;
  opcode_ = first & 0x0f;
  const bool rsv1 = (first & rsv1_bit) != 0;
  const unsigned length = second & 0x7f;
  const std::size_t wide = length == length_64 ? 8 : length == length_16 ? 2 : 0;
  left_ = wide == 0 ? length : number_at(head_ + 2, wide);
  at_ = 0;
  const bool masked = (second & mask_bit) != 0;
  if (masked) std::memcpy(&mask_, head_ + size - sizeof mask_, sizeof mask_);

  if ((first & reserved_bits) != 0)
    return fail(websocket_code::protocol_error, "a reserved bit is set");
  if (masked != bounds_.from_client)
    return fail(websocket_code::protocol_error,
                masked ? "a server's frame is masked" : "a client's frame is not masked");
  if ((wide == 2 && left_ < length_16) || (wide == 8 && left_ <= 0xffff))
    return fail(websocket_code::protocol_error, "a length is not in its shortest form");
  if (left_ >> 63 != 0)
    return fail(websocket_code::protocol_error, "a length has its first bit set");
  using enum websocket_opcode;
  switch (static_cast<websocket_opcode>(opcode_)) {
    case close:
    case ping:
    case pong:
      if (rsv1)
        return fail(websocket_code::protocol_error, "a control frame is marked as compressed");
      if (!last_) return fail(websocket_code::protocol_error, "a control frame is fragmented");
      if (left_ > websocket_control_bytes_max)
        return fail(websocket_code::protocol_error, "a control frame is longer than 125 bytes");
      control_.clear();
      control_from_ = 0;
      move_to(websocket_part::payload);
      return event::more;
    case continuation:
      if (!in_message_)
        return fail(websocket_code::protocol_error, "a continuation without a message");
      if (rsv1)
        return fail(websocket_code::protocol_error, "a continuation is marked as compressed");
      break;
    case text:
    case binary:
      if (in_message_)
        return fail(websocket_code::protocol_error, "a new message inside of another");
      if (rsv1 && bounds_.inflate == nullptr)
        return fail(websocket_code::protocol_error, "compression was not agreed on");
      text_ = opcode_ == static_cast<std::uint8_t>(text);
      compressed_ = rsv1;
      fragments_ = 0;
      utf8_.reset();
      message_.clear();
      break;
    default:
      return fail(websocket_code::protocol_error, "an unknown kind of frame");
  }
  in_message_ = true;
  if (++fragments_ > bounds_.fragments_max)
    return fail(websocket_code::too_big, "a message has too many fragments");
  if (left_ > bounds_.message_bytes_max - message_.size())
    return fail(websocket_code::too_big, "a message is too big");
  move_to(websocket_part::payload);
  return event::more;
}

websocket_reader::event websocket_reader::end_close() {
  code_ = websocket_code::none;
  control_from_ = 0;
  if (control_.empty()) {
    move_to(websocket_part::ended);
    return event::close;
  }
  if (control_.size() == 1)
    return fail(websocket_code::protocol_error, "a close frame has half a code");
  const auto* const bytes = reinterpret_cast<const unsigned char*>(control_.data());
  const auto code = static_cast<std::uint16_t>(number_at(bytes, 2));
  if (!websocket_code_valid(code))
    return fail(websocket_code::protocol_error, "a close frame has no valid code");
  control_from_ = 2;
  utf8_check reason;
  if (!reason.add(control()) || !reason.whole())
    return fail(websocket_code::bad_text, "a reason is not UTF-8");
  code_ = code;
  move_to(websocket_part::ended);
  return event::close;
}

websocket_reader::event websocket_reader::end_message() {
  if (compressed_) {
    switch (bounds_.inflate(message_, bounds_.message_bytes_max)) {
      using enum inflate_outcome;
      case whole:
        break;
      case too_big:
        return fail(websocket_code::too_big, "a message is too big");
      case malformed:
        return fail(websocket_code::bad_text, "a message cannot be unpacked");
    }
    // The text was not checked as it came.
    if (text_ && !utf8_.add(message_)) return fail(websocket_code::bad_text, "a text is not UTF-8");
  }
  if (text_ && !utf8_.whole()) return fail(websocket_code::bad_text, "a text is not UTF-8");
  return event::message;
}

websocket_reader::event websocket_reader::end_frame() {
  move_to(websocket_part::head);
  using enum websocket_opcode;
  switch (static_cast<websocket_opcode>(opcode_)) {
    case close:
      return end_close();
    case ping:
      return event::ping;
    case pong:
      return event::pong;
    default:
      if (!last_) return event::more;
      in_message_ = false;
      return end_message();
  }
}

websocket_reader::event websocket_reader::read(std::span<char>& in) {
  if (next_ == websocket_part::ended) {
    in = {};
    return event::more;
  }
  for (;;) {
    if (next_ == websocket_part::head) {
      if (!take_head(in)) return event::more;
      if (begin_frame() == event::failed) return event::failed;
    }
    const std::size_t size = std::min<std::uint64_t>(left_, in.size());
    const std::span<char> part = in.first(size);
    in = in.subspan(size);
    if (bounds_.from_client) mask_websocket(part.data(), size, mask_, at_);
    at_ += size;
    left_ -= size;
    if (is_control()) {
      control_.append(part.data(), size);
    } else {
      const std::string_view text(part.data(), size);
      if (text_ && !compressed_ && !utf8_.add(text))
        return fail(websocket_code::bad_text, "a text is not UTF-8");
      message_ += text;
    }
    if (left_ != 0) return event::more;
    if (const event what = end_frame(); what != event::more) return what;
  }
}

}  // namespace heddle::http
