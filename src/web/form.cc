// SPDX-License-Identifier: MIT
// Reads forms from request bodies.
#include "heddle/web/form.hh"

#include <algorithm>

#include "heddle/http/headers.hh"
#include "heddle/http/uri.hh"
#include "heddle/web/problem_details.hh"

namespace heddle::http {
namespace {

[[noreturn]] void throw_too_large(std::string_view name) {
  throw status_error(413,
                     "the form's field \"" + std::string(name) + "\" is larger than the limit");
}

std::string boundary_of(const request& r) {
  std::optional<std::string> boundary = multipart_boundary(r.header(header_id::content_type));
  if (!boundary)
    throw status_error(415, "this request needs a multipart/form-data body with a boundary");
  return *std::move(boundary);
}

std::string decoded(std::string_view raw) {
  std::string room(raw.size(), '\0');
  const auto text = decode_form(raw, room);
  if (!text) throw status_error(400, "a percent sign in the form is not followed by two digits");
  return std::string(*text);
}

bool type_is(std::string_view content_type, std::string_view wanted) {
  std::string_view type =
      content_type.substr(0, std::min(content_type.find(';'), content_type.size()));
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.remove_suffix(1);
  return equal_ignoring_case(type, wanted);
}

form pairs_of(std::string_view rest, const form_limits& bounds) {
  form all;
  for (query_pair pair; take_query_pair(rest, pair);) {
    if (all.fields().size() == bounds.fields_max)
      throw status_error(413, describe(multipart_decoder::problem::too_many_parts));
    if (pair.name.size() > bounds.field_bytes_max || pair.value.size() > bounds.field_bytes_max)
      throw_too_large(pair.name.substr(0, 64));
    all.add({decoded(pair.name), decoded(pair.value)});
  }
  return all;
}

}  // namespace

const form_field* form::find(std::string_view name) const noexcept {
  const auto at = std::ranges::find(fields_, name, &form_field::name);
  return at == fields_.end() ? nullptr : &*at;
}

task<form> read_form(request& r, form_limits bounds) {
  if (type_is(r.header(header_id::content_type), "application/x-www-form-urlencoded")) {
    const std::string text = co_await r.text();
    co_return pairs_of(text, bounds);
  }
  if (!type_is(r.header(header_id::content_type), "multipart/form-data"))
    throw status_error(415,
                       "this request needs a form: application/x-www-form-urlencoded or "
                       "multipart/form-data");
  form all;
  multipart_reader parts(r, bounds);
  for (;;) {
    const bool more = co_await parts.next();
    if (!more) break;
    form_field field{parts.part().name, {}, parts.part().filename, parts.part().type};
    field.value = co_await parts.text();
    all.add(std::move(field));
  }
  co_return all;
}

multipart_reader::multipart_reader(request& r, form_limits bounds)
    : request_(r), bounds_(bounds), decoder_(boundary_of(r), bounds) {}

/// Reads from the body until the decoder gives the next piece.
task<multipart_piece> multipart_reader::piece() {
  for (;;) {
    const multipart_piece found = decoder_.feed(input_);
    input_.remove_prefix(found.consumed);
    if (found.what == multipart_piece::kind::failed)
      throw status_error(status_of(decoder_.error()), describe(decoder_.error()));
    if (found.what != multipart_piece::kind::need_more) co_return found;
    input_ = co_await request_.read();
    if (input_.empty() && !decoder_.finish()) throw status_error(400, describe(decoder_.error()));
  }
}

task<bool> multipart_reader::next() {
  for (;;) {
    const multipart_piece found = co_await piece();
    in_part_ = found.what == multipart_piece::kind::part;
    if (in_part_ || found.what == multipart_piece::kind::done) co_return in_part_;
  }
}

task<std::string_view> multipart_reader::read() {
  if (!in_part_) co_return std::string_view{};
  const multipart_piece found = co_await piece();
  in_part_ = found.what == multipart_piece::kind::data;
  co_return in_part_ ? found.bytes : std::string_view{};
}

task<std::string> multipart_reader::text() {
  std::string all;
  for (;;) {
    const std::string_view bytes = co_await read();
    if (bytes.empty()) co_return all;
    if (all.size() + bytes.size() > bounds_.field_bytes_max) throw_too_large(part().name);
    all += bytes;
  }
}

}  // namespace heddle::http
