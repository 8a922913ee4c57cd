// SPDX-License-Identifier: MIT
// Forms: small ones read whole, of either encoding, and multipart ones part by part, so that an
// upload of any size passes through a few kilobytes.
//
//   http::form f = co_await http::read_form(r);
//   const int age = f.value<int>("age").value_or(0);
//
//   http::multipart_reader parts(r);
//   while (co_await parts.next()) {
//     if (!parts.part().filename) continue;
//     for (;;) {
//       const std::string_view bytes = co_await parts.read();
//       if (bytes.empty()) break;
//       co_await file.write_at(std::exchange(at, at + bytes.size()), bytes);
//     }
//   }
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/http/incoming.hh"
#include "heddle/http/multipart.hh"

namespace heddle::http {

/// One field of a form; `filename` says that it is a file.
struct form_field {
  std::string name;
  std::string value;
  std::optional<std::string> filename = {};
  std::string type = {};
};

/// Thread: any; it is a value.
class form {
 public:
  void add(form_field f) { fields_.push_back(std::move(f)); }

  [[nodiscard]] const std::vector<form_field>& fields() const noexcept { return fields_; }
  /// The first field of this name; null when there is none.
  [[nodiscard]] const form_field* find(std::string_view name) const noexcept;
  /// Its value; status_error(400) when it cannot be read as a T.
  template <readable_text T = std::string_view>
  [[nodiscard]] std::optional<T> value(std::string_view name) const {
    const form_field* const f = find(name);
    if (f == nullptr) return std::nullopt;
    return read_text<T>(f->value, "the form's field", name);
  }

 private:
  std::vector<form_field> fields_;
};

/// Reads a form of either encoding whole. The body's own limit is the route's or the server's.
/// Fails: status_error: 415 for another type, 413 beyond a limit, 400 when it is malformed.
[[nodiscard]] task<form> read_form(request& r, form_limits bounds = {});

/// Reads multipart/form-data part by part; what is not read of a part is skipped.
///
/// Thread: the connection's color. Owns: a decoder; the request outlives it.
/// Fails: as read_form(); the constructor already with 415.
class multipart_reader {
 public:
  explicit multipart_reader(request& r, form_limits bounds = {});

  /// Goes to the next part; false at the end of the form.
  [[nodiscard]] task<bool> next();
  /// The part that next() found.
  [[nodiscard]] const part_head& part() const noexcept { return decoder_.part(); }
  /// More of its data, valid until the next call; empty at its end.
  [[nodiscard]] task<std::string_view> read();
  /// All the rest of it, at most field_bytes_max.
  [[nodiscard]] task<std::string> text();

 private:
  [[nodiscard]] task<multipart_piece> piece();

  request& request_;
  form_limits bounds_;
  multipart_decoder decoder_;
  std::string_view input_;
  bool in_part_ = false;
};

}  // namespace heddle::http
