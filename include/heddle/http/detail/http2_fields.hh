// SPDX-License-Identifier: MIT
// Fields of HTTP/2 messages (RFC 9113 section 8.2), of requests and answers alike: which ones are
// valid, how they are written, and trailers, which have no other fields.
//
// For the parts of the library that speak HTTP/2; not for programs: it may change in any version.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "heddle/http/detail/hpack.hh"
#include "heddle/http/field_list.hh"
#include "heddle/http/limits.hh"
#include "heddle/http/problem.hh"

namespace heddle::http {

/// The result of reading a header block.
enum class http2_block : std::uint8_t {
  good,
  malformed,  ///< section 8.1.1: the stream is an error
  too_large,  ///< beyond the limits; decoded to its end all the same
  broken,     ///< HPACK: the connection cannot go on
};

/// Whether a field is valid that is not a pseudo field: its name is a token in lower case, it is
/// not about one connection (section 8.2.2), and TE names trailers alone.
[[nodiscard]] bool http2_field_valid(const hpack_pair& f) noexcept;

/// The reason for which http2_field_valid() is false.
[[nodiscard]] problem http2_field_problem(const hpack_pair& f) noexcept;

/// Appends a field with its name in lower case; fields about one connection are left out.
/// `secret`: no party on the way may keep it (RFC 7541 section 7.1.3).
void put_http2_field(std::string& out, std::string_view name, std::string_view value,
                     bool secret = false);

/// Appends the fields of these lines, each "Name: value\r\n". The result does not depend on the
/// connection, so it can be kept.
void put_http2_lines(std::string& out, std::string_view lines);

/// Reads the fields of a message's head. Pseudo fields go to take_pseudo(field), which gives false
/// if the field is malformed; each other valid field goes to take(field), which gives false in the
/// same way. Every block is decoded to its end, because the decoder's table must follow. If the
/// result is `malformed` or `too_large`, `why` gets the reason; take_pseudo() and take() set their
/// own.
template <class TakePseudo, class Take>
[[nodiscard]] http2_block read_http2_fields(hpack_decoder& decoder, std::string_view block,
                                            const limits& bounds, TakePseudo&& take_pseudo,
                                            Take&& take, problem* why = nullptr) {
  bool good = true, regular = false, cookie_seen = false;
  std::size_t count = 0, bytes = 0;
  decoder.begin();
  for (hpack_pair f;;) {
    const hpack_state state = decoder.next(block, f);
    if (state == hpack_state::failed) return http2_block::broken;
    if (state == hpack_state::end) break;
    // Each field counts 32 bytes more than its texts, so that many small ones are no way around.
    bytes += f.name.size() + f.value.size() + 32;
    // Section 8.2.3: a client may split one Cookie field.
    if (f.name == "cookie" && std::exchange(cookie_seen, true)) --count;
    if (!good || ++count > bounds.header_count_max || bytes > 2 * bounds.header_bytes_max) continue;
    if (f.name.starts_with(':')) {
      if (regular && why != nullptr) *why = problem::pseudo_late;
      good = !regular && take_pseudo(f);
    } else {
      regular = true;
      const bool valid = http2_field_valid(f);
      if (!valid && why != nullptr) *why = http2_field_problem(f);
      good = valid && take(f);
    }
  }
  if (!good) return http2_block::malformed;
  if (why != nullptr)
    *why = count > bounds.header_count_max ? problem::headers_too_many : problem::headers_too_large;
  return count > bounds.header_count_max || bytes > 2 * bounds.header_bytes_max
             ? http2_block::too_large
             : http2_block::good;
}

/// Reads trailers, and writes their lines, each as "name: value\r
/// ".
[[nodiscard]] http2_block read_http2_trailers(hpack_decoder& decoder, std::string_view block,
                                              const limits& bounds, std::string& lines);
/// Appends the header block of trailers.
void put_http2_trailers(std::string& out, const field_list& fields);

}  // namespace heddle::http
