// SPDX-License-Identifier: MIT
// Makes an answer from a representation and a request: conditions first, then one range, several
// ranges or the whole.
#pragma once

#include <string>
#include <string_view>

#include "heddle/http/range.hh"
#include "heddle/http/request.hh"
#include "heddle/http/response.hh"
#include "heddle/web/detail/content_cache.hh"

namespace heddle::http {

/// The part of a representation to send.
struct selection {
  int status = 200;
  range_set ranges;  ///< one for a 206 with one part, several for a multipart one
};

/// Whether a request has a precondition or asks for a range. Most requests do not.
[[nodiscard]] bool has_conditions(const request_head& head) noexcept;

[[nodiscard]] selection select_part(const request_head& head, const representation& r,
                                    std::uint64_t size, std::int64_t now);

/// The header lines that all answers with a representation share; `extra` are whole lines.
[[nodiscard]] std::string assemble_lines(std::string_view type, const representation& r,
                                         content_coding coding, bool varies,
                                         std::string_view extra);

/// The answer for a status without content of the file: 304, 416. `extra` are whole lines.
[[nodiscard]] response answer_without_body(const selection& chosen, const representation& r,
                                           std::uint64_t size, const piece& extra);

/// Builds a body of several parts as multipart/byteranges (RFC 9110 section 14.6).
class multipart {
 public:
  /// `nonce` makes the boundary unpredictable, so that no file can contain it on purpose.
  multipart(std::string_view type, std::uint64_t size, std::uint64_t nonce);
  void add(byte_range range, std::string_view bytes);
  [[nodiscard]] std::string finish();
  [[nodiscard]] std::string content_type() const;

 private:
  std::string type_;
  std::uint64_t size_;
  std::string boundary_;
  std::string body_;
};

}  // namespace heddle::http
