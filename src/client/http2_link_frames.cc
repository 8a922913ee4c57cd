// SPDX-License-Identifier: MIT
// The meaning of a server's frames to a client: heads of answers, ends, settings of its own role;
// and the texts of errors.
#include <utility>

#include "heddle/base/sometimes.hh"
#include "heddle/base/text.hh"
#include "heddle/client/detail/http2_link.hh"
#include "heddle/http/detail/http2_client_head.hh"
#include "heddle/http/problem.hh"

namespace heddle::http::detail {
namespace {

client_stream& client_stream_of(http2_stream& s) noexcept { return static_cast<client_stream&>(s); }

constexpr std::size_t shown_max = 100;  // bytes of a server's text in an error

std::string_view option_of(http2_flood limit) noexcept {
  switch (limit) {
    case http2_flood::header_block:
      return "http2.header_block_bytes_max";
    case http2_flood::continuations:
      return "http2.continuations_max";
    case http2_flood::empty_frames:
      return "http2.empty_frames_max";
    case http2_flood::pings:
      return "http2.acknowledgements_max";
    case http2_flood::settings:
      return "http2.settings_max";
    case http2_flood::none:
    case http2_flood::glitches:
    case http2_flood::resets:
      break;
  }
  return "http2.glitches_max";
}

}  // namespace

void http2_link::on_failure(std::string_view what, http2_flood flood) {
  stop_opening();
  if (flood == http2_flood::none) {
    trouble_ = {std::make_error_code(std::errc::bad_message),
                "the server breaks the rules of HTTP/2: " + std::string(what)};
  } else {
    trouble_ = {std::make_error_code(std::errc::message_size),
                "the server sent " + std::string(what) +
                    " (client_options::" + std::string(option_of(flood)) + ")"};
  }
}

void http2_link::on_fault(http2_stream* found, const http2_fault& because) {
  if (found == nullptr) return;
  client_stream& s = client_stream_of(*found);
  std::string text = "the server sent " + std::string(because.text);
  if (because.code == std::errc::operation_canceled) text = "its body failed";
  if (because.code == std::errc::connection_reset)
    text = "the stream ended " + std::to_string(s.length.value_or(0) - s.body_bytes) +
           " bytes before the end of its body";
  end_stream(s, {std::make_error_code(because.code), std::move(text)});
}

void http2_link::on_head(std::uint32_t, http2_stream* found, std::string_view block, bool ends) {
  client_stream& s = client_stream_of(*found);
  s.heard = true;
  problem why = problem::none;
  const http2_block what =
      read_http2_answer(kept_.decoder, block, options_->bounds, ends, s.head, why);
  switch (what) {
    case http2_block::broken:
      return fail(http2_error::compression_error, "a header block cannot be decoded");
    case http2_block::too_large:
    case http2_block::malformed: {
      const std::string text = "a bad head: " + std::string(describe(why));
      return reset_stream(s.id(),
                          what == http2_block::too_large
                              ? http2_fault{http2_error::cancel, std::errc::message_size, text}
                              : malformed(text));
    }
    case http2_block::good:
      break;
  }
  if (s.head.informational()) {
    if (ends)
      return reset_stream(s.id(), malformed("an informational answer that ends its stream"));
    if (++s.informational > options_->informational_max)
      return reset_stream(s.id(),
                          {http2_error::cancel, std::errc::message_size,
                           "too many informational answers (client_options::informational_max)"});
    if (!s.keeps_early) return;
    s.early.push_back(std::move(s.head));
    s.news.wake();
    return;
  }
  s.has_head = true;
  const bool named = s.head.has("content-length") && !s.tunnel;
  s.bodyless = s.bodyless || (!ends && s.head.body(method::get) == framing::none);
  if (s.bodyless) {
    s.length = 0;
  } else if (named && s.head.status() != 304) {
    s.length = s.head.content_length();
  }
  if (ends) end_message(s);
  s.news.wake();
}

void http2_link::on_reset(http2_stream* found, std::uint32_t code) {
  count_late();
  if (found == nullptr) return;
  client_stream& s = client_stream_of(*found);
  const auto why = static_cast<http2_error>(code);
  const bool refused = why == http2_error::refused_stream && !s.heard;
  const bool other = why == http2_error::http_1_1_required && !s.heard;
  if (!refused && !other) s.heard = true;
  end_stream(s, {std::make_error_code(std::errc::connection_reset),
                 "the server reset the stream (" + std::string(http2_error_name(code)) + ")",
                 refused || other, other});
}

std::string_view http2_link::on_setting(http2_setting name, std::uint32_t value) {
  switch (name) {
    case http2_setting::enable_push:
      return value != 0 ? "ENABLE_PUSH of a server is 0" : "";
    case http2_setting::max_concurrent_streams:
      allow_streams(value);
      return {};
    case http2_setting::enable_connect_protocol:
      if (value > 1 || (extended_connect_ && value == 0))
        return "ENABLE_CONNECT_PROTOCOL is 0 or 1, and stays 1";
      extended_connect_ = value == 1;
      return {};
    default:
      return {};
  }
}

void http2_link::on_settings() {
  if (unused()) unused_since_ = clock::now();  // a request that waited for them begins now
  for (const event<>& each : std::exchange(wait_for_settings_, {})) each.trigger();
}

void http2_link::on_ping_answer() {
  if (pings_out_ == 0) return count_glitch();
  --pings_out_;
}

void http2_link::on_priority(std::uint32_t, std::string_view) {
  fail(http2_error::protocol_error, "PRIORITY_UPDATE of a server");
}

void http2_link::on_goaway(std::uint32_t last, std::uint32_t code, std::string_view debug) {
  goodbye_ = " (" + std::string(http2_error_name(code));
  if (!debug.empty()) goodbye_ += ": " + printable_text(debug.substr(0, shown_max), shown_max);
  goodbye_ += ")";
  stop_opening();
  const std::vector<http2_stream*> open = streams();
  for (http2_stream* const each : open) {
    client_stream& s = client_stream_of(*each);
    if (s.id() <= last) HEDDLE_SOMETIMES("a server says goodbye while it answers a request");
    if (s.id() > last)
      end_stream(s, {std::make_error_code(std::errc::connection_reset),
                     "the server did not take the request" + goodbye_, !s.heard});
  }
  gone.cancel();
}

}  // namespace heddle::http::detail
