// SPDX-License-Identifier: MIT
// Sends a request to an upstream. A write that fails says nothing yet: the upstream may have
// answered before it closed, and the reader finds out.
#include "heddle/core/expected.hh"
#include "proxy/fields.hh"
#include "proxy/passage.hh"

namespace heddle::http::detail {

/// False if the upstream takes no more.
task<bool> passage::put(std::string_view bytes) {
  const sent_now sent = use_.on.try_write(byte_view(bytes));
  if (sent.complete(bytes.size())) co_return true;
  const auto done = co_await as_expected(with_timeout(
      use_.on.write(byte_view(bytes.substr(sent.bytes))), core_.options.timeouts.transfer));
  if (!done && done.error() == std::errc::operation_canceled && use_.on)
    throw failure(done.error());
  co_return done.has_value();
}

task<> passage::send_head() {
  const bool taken = co_await put(out_);
  static_cast<void>(taken);
}

/// The client's pace is the upstream's: nothing is read before the part before has left.
task<> passage::put_parts() {
  const bool chunked = head_.body() == framing::chunked;
  std::string framed;
  std::string_view part = first_part_;
  for (bool first = !first_part_.empty();; first = false) {
    if (!first) part = co_await r_.read();
    if (part.empty()) break;
    if (chunked) {
      framed.assign(chunk_head(part.size()).text()).append(part).append(chunk_end);
      part = framed;
    }
    if (const bool taken = co_await put(part); !taken) co_return;
  }
  if (chunked) {
    framed.assign("0\r\n").append(request_trailers(r_.trailer_lines(), head_)).append("\r\n");
    if (const bool taken = co_await put(framed); !taken) co_return;
  }
  uploaded_ = true;
}

task<> passage::upload(passage& p) {
  try {
    co_await p.put_parts();
  } catch (...) {
    if (!p.upload_stopped_) p.upload_failed_ = std::current_exception();
  }
  p.upload_ended_ = true;
  p.upload_ended_at_ = worker::running().now;
  if (p.upload_failed_) {  // the upstream must not take the body for a whole one
    p.use_.on.reset_on_close();
    p.use_.on.close();
  }
}

}  // namespace heddle::http::detail
