// SPDX-License-Identifier: MIT
// Forms. read_form() reads a small form of either encoding whole; multipart_reader reads one part
// by part, so that an upload of any size passes through a few kilobytes of memory.
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

#include "heddle/http/multipart.hh"
#include "heddle/web/incoming.hh"

namespace heddle::http {

/// One field of a form; it is a file if `filename` is set.
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
  /// The first field of this name; null if there is none.
  [[nodiscard]] const form_field* find(std::string_view name) const noexcept;
  /// The value of the first field of this name; throws status_error(400) if it is not a T.
  template <readable_text T = std::string_view>
  [[nodiscard]] std::optional<T> value(std::string_view name) const {
    const form_field* const f = find(name);
    if (f == nullptr) return std::nullopt;
    return read_text<T>(f->value, "the form's field", name);
  }

 private:
  std::vector<form_field> fields_;
};

/// Reads a whole form of either encoding. The route or the server limits the size of the body.
/// Fails: status_error: 415 for another content type, 413 beyond a limit, 400 if the form is
///   malformed.
[[nodiscard]] task<form> read_form(request& r, form_limits bounds = {});

/// Reads multipart/form-data part by part, and skips the unread rest of a part.
///
/// Thread: the connection's color. Owns: a decoder; the request outlives it.
/// Fails: as read_form(); the constructor throws the 415.
class multipart_reader {
 public:
  explicit multipart_reader(request& r, form_limits bounds = {});

  /// Advances to the next part; false at the end of the form.
  [[nodiscard]] task<bool> next();
  /// The part that next() found.
  [[nodiscard]] const part_head& part() const noexcept { return decoder_.part(); }
  /// The next bytes of the part's data, valid until the next call; empty at its end.
  [[nodiscard]] task<std::string_view> read();
  /// The rest of the part's data, at most field_bytes_max.
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
