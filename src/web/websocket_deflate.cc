// SPDX-License-Identifier: MIT
// Offers, answers and messages of permessage-deflate. Without zlib nothing is agreed on.
#include "web/websocket_deflate.hh"

#include "heddle/http/content_coding.hh"
#include "heddle/http/detail/charset.hh"

#ifdef HEDDLE_WITH_ZLIB
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <utility>
#endif

namespace heddle::http {
namespace {

constexpr std::uint8_t widest = 15;
constexpr std::uint8_t narrowest = 9;  // zlib has no raw stream of 8

/// Takes the part before the separator off the front.
std::string_view take_part(std::string_view& rest, char separator) noexcept {
  const std::size_t at = rest.find(separator);
  const std::string_view part = rest.substr(0, at);
  rest = at == rest.npos ? std::string_view() : rest.substr(at + 1);
  return detail::trim_ows(part);
}

/// Reads a window from 8 to 15, perhaps in quotes; 0 for other values.
std::uint8_t window_of(std::string_view value) noexcept {
  if (value.size() >= 2 && value.starts_with('"') && value.ends_with('"'))
    value = value.substr(1, value.size() - 2);
  if (value == "8" || value == "9") return static_cast<std::uint8_t>(value[0] - '0');
  if (value.size() == 2 && value[0] == '1' && value[1] >= '0' && value[1] <= '5')
    return static_cast<std::uint8_t>(10 + value[1] - '0');
  return 0;
}

/// The parameters of one permessage-deflate (RFC 7692 section 7.1).
struct parameters {
  bool valid = false;
  bool server_forgets = false;
  bool client_forgets = false;
  bool client_window_told = false;
  std::uint8_t server_window = 0;  // 0: not told
  std::uint8_t client_window = 0;
};

parameters parameters_of(std::string_view text) noexcept {
  parameters p;
  if (take_part(text, ';') != "permessage-deflate") return p;
  while (!text.empty()) {
    std::string_view value = take_part(text, ';');
    const bool has_value = value.find('=') != value.npos;
    const std::string_view name = take_part(value, '=');
    if (name == "server_no_context_takeover" && !has_value && !p.server_forgets) {
      p.server_forgets = true;
    } else if (name == "client_no_context_takeover" && !has_value && !p.client_forgets) {
      p.client_forgets = true;
    } else if (name == "server_max_window_bits" && p.server_window == 0 && window_of(value) != 0) {
      p.server_window = window_of(value);
    } else if (name == "client_max_window_bits" && !p.client_window_told &&
               (!has_value || window_of(value) != 0)) {
      p.client_window_told = true;
      p.client_window = window_of(value);
    } else {
      return p;
    }
  }
  p.valid = true;
  return p;
}

}  // namespace

std::uint8_t choose_websocket_deflate(std::string_view offers) {
  if (!can_compress()) return 0;
  while (!offers.empty()) {
    const parameters p = parameters_of(take_part(offers, ','));
    const std::uint8_t window = p.server_window == 0 ? widest : p.server_window;
    if (p.valid && window >= narrowest) return window;
  }
  return 0;
}

std::string websocket_deflate_answer(std::uint8_t window_bits) {
  std::string answer(websocket_deflate_offer);
  if (window_bits != widest) (answer += "; server_max_window_bits=") += std::to_string(window_bits);
  return answer;
}

std::uint8_t read_websocket_deflate_answer(std::string_view answer) {
  const parameters p = parameters_of(answer);
  // The offer has no client_max_window_bits: an answer must not have it (section 7.1.2.2).
  return p.valid && p.server_forgets && !p.client_window_told ? widest : 0;
}

#ifdef HEDDLE_WITH_ZLIB

namespace {

constexpr int deflate_memory = 8;  // zlib's default
constexpr int deflate_level = 6;
constexpr std::string_view tail("\0\0\xff\xff", 4);  // RFC 7692 section 7.2.1
constexpr std::size_t first_room = 4096;
constexpr std::size_t most_at_once = std::numeric_limits<uInt>::max();
constexpr int at_a_block = 128;  // the bit of z_stream::data_type that says: no block is open

/// The states of a thread. Each is made when it is first needed, and reset for each message.
struct deflate_states {
  deflate_states() = default;
  deflate_states(const deflate_states&) = delete;
  ~deflate_states() {
    if (out_bits != 0) deflateEnd(&out);
    if (in_ready) inflateEnd(&in);
  }
  z_stream* deflater(std::uint8_t bits) {
    if (out_bits == bits) return deflateReset(&out) == Z_OK ? &out : nullptr;
    if (out_bits != 0) deflateEnd(&out);
    out = {};
    const bool made = deflateInit2(&out, deflate_level, Z_DEFLATED, -static_cast<int>(bits),
                                   deflate_memory, Z_DEFAULT_STRATEGY) == Z_OK;
    out_bits = made ? bits : std::uint8_t{0};
    return made ? &out : nullptr;
  }
  z_stream* inflater() {
    if (in_ready) return inflateReset(&in) == Z_OK ? &in : nullptr;
    in_ready = inflateInit2(&in, -static_cast<int>(widest)) == Z_OK;
    return in_ready ? &in : nullptr;
  }
  z_stream out{};
  z_stream in{};
  std::uint8_t out_bits = 0;
  bool in_ready = false;
};

deflate_states& states_of_thread() {
  thread_local deflate_states states;
  return states;
}

void feed(z_stream& s, std::string_view bytes) {
  s.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  s.avail_in = static_cast<uInt>(bytes.size());
}

/// Unpacks these bytes and appends the result to `out`.
inflate_outcome unpack(z_stream& s, std::string_view bytes, std::string& out,
                       std::uint64_t bytes_max) {
  feed(s, bytes);
  for (;;) {
    const std::size_t from = out.size();
    // One byte more than the limit shows that there is more.
    const std::uint64_t room =
        std::min<std::uint64_t>(bytes_max - from, std::max(first_room, from)) + 1;
    out.resize(from + room);
    s.next_out = reinterpret_cast<Bytef*>(out.data() + from);
    s.avail_out = static_cast<uInt>(room);
    const int outcome = inflate(&s, Z_SYNC_FLUSH);
    const bool full = s.avail_out == 0;
    out.resize(from + room - s.avail_out);
    if (out.size() > bytes_max) return inflate_outcome::too_big;
    if (outcome == Z_STREAM_END) {  // a final block; others may follow (section 7.2.3.4)
      if (inflateReset(&s) != Z_OK) return inflate_outcome::malformed;
    } else if (outcome != Z_OK && outcome != Z_BUF_ERROR) {
      return inflate_outcome::malformed;
    }
    if (s.avail_in == 0 && !full) return inflate_outcome::whole;
  }
}

}  // namespace

std::optional<std::string> deflate_websocket(std::string_view message, std::uint8_t window_bits) {
  z_stream* const s = states_of_thread().deflater(window_bits);
  if (s == nullptr || message.size() <= tail.size() || message.size() > most_at_once)
    return std::nullopt;
  std::string packed(message.size(), '\0');
  feed(*s, message);
  s->next_out = reinterpret_cast<Bytef*>(packed.data());
  s->avail_out = static_cast<uInt>(packed.size());
  if (deflate(s, Z_SYNC_FLUSH) != Z_OK || s->avail_out == 0) return std::nullopt;
  packed.resize(packed.size() - s->avail_out);
  if (!packed.ends_with(tail)) return std::nullopt;
  packed.resize(packed.size() - tail.size());
  return packed;
}

inflate_outcome inflate_websocket(std::string& message, std::uint64_t bytes_max) {
  z_stream* const s = states_of_thread().inflater();
  if (s == nullptr) return inflate_outcome::malformed;
  if (message.size() > most_at_once) return inflate_outcome::too_big;
  std::string plain;
  inflate_outcome outcome = unpack(*s, message, plain, bytes_max);
  if (outcome == inflate_outcome::whole) outcome = unpack(*s, tail, plain, bytes_max);
  if (outcome == inflate_outcome::whole && (s->data_type & at_a_block) == 0)
    outcome = inflate_outcome::malformed;
  message = std::move(plain);
  return outcome;
}

#else

std::optional<std::string> deflate_websocket(std::string_view, std::uint8_t) {
  return std::nullopt;
}
inflate_outcome inflate_websocket(std::string&, std::uint64_t) {
  return inflate_outcome::malformed;
}

#endif

}  // namespace heddle::http
