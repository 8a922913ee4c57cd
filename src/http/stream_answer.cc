// SPDX-License-Identifier: MIT
// Answers that a handler writes bit by bit, and connections that it takes over.
#include <utility>

#include "heddle/core/deadline.hh"
#include "heddle/http/problem_details.hh"
#include "heddle/http/status.hh"
#include "http/exchange.hh"
#include "http/header_line.hh"

namespace heddle::http {
namespace {

constexpr std::size_t copied_part = 4096;  // smaller parts are copied behind what is gathered

std::error_code broken() { return std::make_error_code(std::errc::broken_pipe); }

}  // namespace

task<> exchange::start(response r) {
  HEDDLE_ASSERT(stream_status_ == 0, "this request's answer has been started already");
  if (!r.headers_ok() || !status_final(r.status()))
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "a header of the answer, or its status, must not be sent");
  const request_head& asked = head();
  stream_status_ = r.status();
  stream_muted_ = asked.verb() == method::head || !body_allowed(r.status());
  stream_bytes_ = 0;
  stream_trailers_.clear();
  stream_keep_ = asked.keep_alive() && !r.closes_ && !owner_.stopping_;
  // The client waits to be told whether to send its body. Whoever starts an answer before reading
  // goes on to read, unless the answer is an error; after it, 100 would be out of place.
  if (std::exchange(continue_due_, false)) {
    if (r.status() < 400) {
      out_ += "HTTP/1.1 100 Continue\r\n\r\n";
    } else {
      stream_keep_ = false;
    }
  }
  if (!body_allowed(r.status())) {
    stream_end_ = ending::none;
  } else if (r.has_promise_) {
    stream_end_ = ending::length;
    stream_left_ = r.length();
  } else if (asked.minor_version() == 0) {
    stream_end_ = ending::close;
    stream_keep_ = false;
  } else {
    stream_end_ = ending::chunked;
  }
  write_head(r, !stream_keep_, stream_end_);
  co_return;
}

task<> exchange::write_out() {
  const bool sent = co_await flush();
  if (!sent) throw failure(broken(), "the client takes no more of the answer");
}

task<> exchange::write_part(std::string_view bytes) {
  HEDDLE_ASSERT(stream_status_ != 0, "start the answer before you write to it");
  stream_bytes_ += stream_muted_ ? 0 : bytes.size();
  if (stream_end_ == ending::length) {
    if (bytes.size() > stream_left_)
      throw failure(std::make_error_code(std::errc::message_size),
                    "more was written than response::length() promised");
    stream_left_ -= bytes.size();
  }
  while (!bytes.empty() && !stream_muted_) {
    const std::string_view part = bytes.substr(0, owner_.options_.send_bytes_max);
    bytes.remove_prefix(part.size());
    const bool chunked = stream_end_ == ending::chunked;
    if (chunked) out_.append(chunk_head(part.size()).text());
    if (part.size() <= copied_part) {
      out_.append(part);
      if (chunked) out_.append(chunk_end);
      co_await write_out();
      continue;
    }
    chain all(std::move(out_));
    out_.clear();
    all.append_view(part);
    if (chunked) all.append(piece::of_static(chunk_end));
    const std::size_t size = all.size();
    auto sent = co_await as_expected(
        with_timeout(conn_.write(std::move(all)), owner_.options_.write_timeout));
    if (!note_sent(sent, size)) throw failure(sent.error());
  }
}

void exchange::add_trailer(std::string_view name, std::string_view value) {
  if (!trailer_allowed(name) || !append_line(stream_trailers_, name, value))
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "this field must not be sent as a trailer");
}

/// Gathers what ends the body. False: it is not whole.
bool exchange::end_stream() {
  if (stream_end_ == ending::chunked && !stream_muted_)
    out_.append("0\r\n").append(stream_trailers_).append("\r\n");
  return stream_end_ != ending::length || stream_left_ == 0 || stream_muted_;
}

void exchange::add_header(std::string_view name, std::string_view value) {
  if (says_itself(name) || !append_line(added_lines_, name, value))
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "a header's name is no token or is the server's own to send, or its value could "
                  "end the line");
}

task<upgraded> exchange::upgrade(std::string_view protocol, response r) {
  const request_head& asked = head();
  if (!asked.upgrade() || !list_has_token(asked.value(header_id::upgrade), protocol)) {
    add_header("Upgrade", protocol);
    static_cast<void>(append_line(added_lines_, "Connection", "Upgrade"));  // RFC 9110 section 7.8
    throw status_error(426, "this resource speaks another protocol: see Upgrade");
  }
  if (body_ != framing::none)
    throw status_error(400, "a request with a body cannot change the protocol");
  static_cast<void>(append_line(r.lines_, "Connection", "Upgrade"));
  r.header("Upgrade", protocol);
  stream_status_ = r.status();
  stream_end_ = ending::none;
  stream_keep_ = false;
  stream_muted_ = true;
  stream_bytes_ = 0;
  write_head(r, false, ending::none);
  co_await write_out();
  std::string early(rest_);
  rest_ = {};
  co_return upgraded(conn_, std::move(early));
}

task<> body_writer::write(std::string_view bytes) { return on_->write_part(bytes); }
task<> body_writer::flush() { return on_->write_out(); }

body_writer& body_writer::trailer(std::string_view name, std::string_view value) {
  on_->add_trailer(name, value);
  return *this;
}

response body_writer::done() const {
  response r(on_->started_status());
  r.sent_ = true;
  return r;
}

response upgraded::done() const {
  response r(101);
  r.sent_ = true;
  return r;
}

}  // namespace heddle::http
