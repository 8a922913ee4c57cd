// SPDX-License-Identifier: MIT
// Sends a request to an upstream. A write that fails says nothing yet: the upstream may have
// answered before it closed, and the reader finds out.
#include "proxy/fields.hh"
#include "proxy/passage.hh"

namespace heddle::http::detail {

task<> passage::send_head() {
  form_ = !streams()                         ? sending::whole
          : head_.body() == framing::chunked ? sending::chunked
                                             : sending::stated;
  const bool all = co_await exchange_->send(out_, head_bytes_, form_);
  handing_ = all ? handing::nothing : handing::rest_due;
}

/// Behind parts of the body, an upstream of HTTP/2 may refuse a request, and any may close an idle
/// connection that the request took.
void passage::keep_for_repeat(std::string_view part) {
  if (!by_http2_ && !idempotent(head_.verb())) parts_kept_ = parts_kept_ && part.empty();
  if (!parts_kept_) return;
  parts_kept_ = first_parts_.size() + part.size() <= core_.options.repeat_bytes_max;
  if (parts_kept_) first_parts_.append(part);
}

/// The client's pace is the upstream's: nothing is read before the part before has left.
task<> passage::put_parts() {
  if (handing_ == handing::rest_due) {
    handing_ = handing::part;
    if (const bool taken = co_await exchange_->send_rest(); !taken) co_return;
    handing_ = handing::nothing;
  }
  if (form_ == sending::whole) {
    if (uploading()) move_to(upload_state::sent);
    co_return;
  }
  std::string_view part = first_parts_;
  for (bool first = !first_parts_.empty();; first = false) {
    if (!first) {
      part = co_await r_.read();
      keep_for_repeat(part);
    }
    if (part.empty()) break;
    handing_ = handing::part;
    if (const bool taken = co_await exchange_->put(part); !taken) co_return;
    handing_ = handing::nothing;
  }
  handing_ = handing::part;
  const std::string trailers = request_trailers(r_.trailer_lines(), head_);
  if (const bool taken = co_await exchange_->finish(trailers); !taken) co_return;
  if (uploading()) move_to(upload_state::sent);
}

task<> passage::upload(passage& p) {
  try {
    co_await p.put_parts();
  } catch (...) {
    if (p.uploading()) p.upload_failed_ = std::current_exception();
  }
  if (p.upload_ != upload_state::sent) p.move_to(upload_state::cut);
  p.upload_ended_at_ = worker::running().now;
  if (p.upload_failed_) p.exchange_->abandon();
  if (p.waiting_ != nullptr && p.request_stalls()) p.waiting_->cancel();
}

}  // namespace heddle::http::detail
