// SPDX-License-Identifier: MIT
// From a representation and a request to an answer: conditions, then one range, several, or all.
#pragma once

#include <string>
#include <string_view>

#include "heddle/http/content_cache.hh"
#include "heddle/http/range.hh"
#include "heddle/http/request.hh"
#include "heddle/http/response.hh"

namespace heddle::http {

/// What of a representation is to be sent.
struct selection {
  int status = 200;
  range_set ranges;  ///< one for 206 with one part, several for a multipart one
};

/// False for most requests: nothing to compare and no part asked for.
[[nodiscard]] bool has_conditions(const request_head& head) noexcept;

[[nodiscard]] selection select_part(const request_head& head, const representation& r,
                                    std::uint64_t size, std::int64_t now);

/// The header lines that every answer with a representation has; `extra` are whole lines.
[[nodiscard]] std::string assemble_lines(std::string_view type, const representation& r,
                                         content_coding coding, bool varies,
                                         std::string_view extra);

/// The answer for a status that has no part of the file in it: 304, 416. `extra` are whole lines.
[[nodiscard]] response answer_without_body(const selection& chosen, const representation& r,
                                           std::uint64_t size, const piece& extra);

/// Several parts as multipart/byteranges (RFC 9110 section 14.6).
class multipart {
 public:
  /// `nonce` makes the boundary one that no file can hold on purpose.
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
