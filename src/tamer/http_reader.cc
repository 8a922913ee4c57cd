// SPDX-License-Identifier: MIT
// Copies what the parsers find into an http_message, and their problems into numbers of http_errno.
#include "tamer/http_reader.hh"

#include "tamer/http_text.hh"

namespace tamer::detail {
namespace {

using namespace heddle::http;

http_errno errno_of(problem what) noexcept {
  switch (what) {
    using enum problem;
    case none:
      return HPE_OK;
    case empty_lines_too_many:
    case method_bad_byte:
    case method_too_long:
      return HPE_INVALID_METHOD;
    case target_empty:
    case target_bad_byte:
    case target_form_bad:
    case authority_bad:
      return HPE_INVALID_URL;
    case version_missing:
    case version_malformed:
    case version_unsupported:
      return HPE_INVALID_VERSION;
    case target_too_long:
    case headers_too_large:
    case headers_too_many:
    case trailers_too_large:
      return HPE_HEADER_OVERFLOW;
    case length_malformed:
    case length_repeated:
    case length_overflow:
    case length_and_encoding:
    case body_too_large:
      return HPE_INVALID_CONTENT_LENGTH;
    case chunk_size_malformed:
    case chunk_size_overflow:
    case chunk_extension_malformed:
    case chunk_extensions_too_large:
    case chunk_end_missing:
      return HPE_INVALID_CHUNK_SIZE;
    case status_line_malformed:
      return HPE_INVALID_STATUS;
    default:
      return HPE_INVALID_HEADER_TOKEN;
  }
}

template <class Head>
void copy_fields(const Head& from, http_message& to) {
  to.http_minor(static_cast<unsigned>(from.minor_version()));
  for (std::size_t i = 0; i < from.header_count(); ++i) {
    const header h = from.header_at(i);
    to.append_header(std::string(h.name), std::string(h.value));
  }
}

}  // namespace

bool http_reader::take(buffer& in) {
  std::string_view rest(in.data(), in.size());
  const bool ended = (has_head_ || take_head(rest)) && take_body(rest);
  static_cast<void>(in.take(in.size() - rest.size()));
  return ended || !message.ok();
}

void http_reader::end_of_input() noexcept {
  if (!has_head_ || !body_.end_of_input()) message.error(HPE_INVALID_EOF_STATE);
}

void http_reader::fail(problem what) noexcept { message.error(errno_of(what)); }

void http_reader::begin_body(framing how, std::uint64_t length) {
  has_head_ = true;
  if (how == framing::length && length > bounds.body_bytes_max) fail(problem::length_overflow);
  body_.begin(how, length);
}

/// Takes the head. False if more bytes are needed, or the head is wrong.
bool http_reader::take_head(std::string_view& rest) {
  if (!request_) {
    const parse_state state = answered_.feed(rest);
    if (state == parse_state::failed) fail(answered_.error());
    if (state != parse_state::done) return false;
    const response_head head = answered_.take();
    message.status_code(static_cast<unsigned>(head.status()), std::string(head.reason()));
    copy_fields(head, message);
    keep_alive = head.keep_alive();
    begin_body(head.body(method::get), head.content_length());
    return message.ok();
  }
  const parse_state state = asked_.feed(rest);
  if (state == parse_state::need_more) return false;
  // Programs in Tame send no Host.
  if (state == parse_state::failed && asked_.error() != problem::host_missing) {
    fail(asked_.error());
    return false;
  }
  const request_head& head = asked_.head();
  const http_methods_row* const known = method_named(head.method_text());
  if (known == nullptr) {
    message.error(HPE_INVALID_METHOD);
    return false;
  }
  message.method(known->method).url(std::string(head.target()));
  copy_fields(head, message);
  keep_alive = head.keep_alive();
  begin_body(head.body(), head.content_length());
  rest.remove_prefix(asked_.consumed());
  return message.ok();
}

/// Takes the body. False if more bytes are needed, or the body is wrong.
bool http_reader::take_body(std::string_view& rest) {
  while (!body_.ended()) {
    const std::string_view part = body_.take(rest);
    if (body_.error() == problem::body_too_large)
      fail(problem::chunk_size_overflow);
    else if (body_.error() != problem::none)
      fail(body_.error());
    if (part.empty()) return body_.ended();
    message.append_body(part);
    if (message.body().size() > bounds.body_bytes_max) {
      message.error(HPE_HEADER_OVERFLOW);
      return false;
    }
  }
  return true;
}

}  // namespace tamer::detail
