// SPDX-License-Identifier: MIT
// A streaming decoder of multipart/form-data (RFC 7578, RFC 2046) without copies: it tells which
// bytes of a buffer are data of which part. multipart_reader (form.hh) reads a request with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::http {

/// Limits on one form.
struct form_limits {
  std::size_t fields_max = 256;              ///< fields or parts; over: 413
  std::size_t field_bytes_max = 256 * 1024;  ///< a value that is read whole, file or not: 413
  std::size_t part_header_bytes_max = 4096;  ///< the lines before a part's data; over: 413
  std::size_t preamble_bytes_max = 1024;     ///< before the first part; over: 400
};

/// The header lines of a part, as far as forms use them.
struct part_head {
  std::string name;
  std::optional<std::string>
      filename;      ///< set for a file: its name as the client gave it; never use it as a path
  std::string type;  ///< Content-Type, "" when it was not given
};

/// The result of one call of multipart_decoder::feed.
struct multipart_piece {
  enum class kind : std::uint8_t {
    need_more,  ///< the input is used up
    part,       ///< a part begins: see multipart_decoder::part()
    data,       ///< `bytes` are data of this part
    part_end,
    done,    ///< the last part has ended; further input is ignored
    failed,  ///< see multipart_decoder::error()
  };
  kind what = kind::need_more;
  std::size_t consumed = 0;     ///< bytes of the input that the decoder has processed
  std::string_view bytes = {};  ///< a view of the input or of the decoder
};

/// Thread: one at a time. Owns: the boundary and the lines of the current part.
/// Fails: `failed`, and stays failed. The error does not depend on how the input was split.
class multipart_decoder {
 public:
  enum class problem : std::uint8_t {
    none,
    preamble_too_long,
    boundary_line_bad,  ///< text other than spaces follows a boundary
    head_too_large,
    head_bad,  ///< a line of a part's head is not a field line
    not_form_data,
    name_missing,
    too_many_parts,
    truncated,  ///< finish() was called before the last boundary
  };

  /// Takes the boundary as multipart_boundary() gives it.
  multipart_decoder(std::string_view boundary, const form_limits& bounds);

  /// Decodes the next bytes. `input` starts after the bytes that the last call consumed. Returns at
  /// the first piece.
  multipart_piece feed(std::string_view input);
  /// Call it at the end of the input. False if the form is incomplete.
  bool finish();

  [[nodiscard]] const part_head& part() const noexcept { return part_; }
  [[nodiscard]] problem error() const noexcept { return problem_; }

 private:
  enum class stage : std::uint8_t { preamble, data, after_boundary, head, done, failed };

  multipart_piece fail(problem what, std::size_t consumed);
  multipart_piece step(std::string_view input);
  multipart_piece scan(std::string_view input);
  multipart_piece boundary_line(std::string_view input);
  multipart_piece head_lines(std::string_view input);
  [[nodiscard]] problem take_head();

  std::string delimiter_;  // "\r\n--" and the boundary
  form_limits bounds_;
  std::string lines_;  // the part's head; or the text after a boundary
  part_head part_;
  std::size_t matched_ = 2;  // bytes of the delimiter; the body's start counts as a line end
  std::size_t skipped_ = 0;
  std::size_t parts_ = 0;
  stage stage_ = stage::preamble;
  problem problem_ = problem::none;
};

std::string_view describe(multipart_decoder::problem what);
/// The status that answers this problem: 400 or 413.
int status_of(multipart_decoder::problem what);

/// The boundary that a Content-Type names. Nothing if the type is not multipart/form-data, or if
/// the boundary is missing or invalid (RFC 2046 allows 1 to 70 characters of a set).
[[nodiscard]] std::optional<std::string> multipart_boundary(std::string_view content_type);

/// The value of a parameter, for example `name` in `form-data; name="a \"b\""`, without quotes and
/// escapes. A backslash stays unless a quote or a backslash follows, because browsers send it so.
[[nodiscard]] std::optional<std::string> header_parameter(std::string_view value,
                                                          std::string_view name);

}  // namespace heddle::http
