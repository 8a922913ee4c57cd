// SPDX-License-Identifier: MIT
// Request after request: parse, call the handler, gather the answers, send them in one go.
#include "http/exchange.hh"

#include <algorithm>

#include "heddle/core/deadline.hh"
#include "heddle/http/head_writer.hh"
#include "heddle/http/status.hh"
#include "http/driver_call.hh"

namespace heddle::http {
namespace {

constexpr std::size_t small_body = 16 * 1024;  // copied behind its head: one send, no second piece
constexpr std::size_t head_room = 512;         // what the writer needs besides the handler's lines
constexpr std::size_t file_part = 128 * 1024;  // read and sent in turn

}  // namespace

exchange::exchange(server& owner, tcp_stream& conn, received&& first)
    : owner_(owner),
      conn_(conn),
      block_(std::move(first)),
      rest_(block_.text()),
      parser_(owner.options_.bounds),
      chunks_(owner.options_.bounds) {}

const address& exchange::peer() noexcept {
  if (!peer_) peer_ = conn_.peer();
  return peer_;
}

task<bool> exchange::run() {
  bool keep = true;
  while (keep) {
    const parse_state state = parser_.feed(rest_);
    if (state == parse_state::failed) {
      refuse(status_of(parser_.error()), describe(parser_.error()));
      keep = false;
    } else if (state == parse_state::need_more) {
      keep = co_await more_head();
      if (!keep) co_return false;
    } else {
      rest_.remove_prefix(parser_.consumed());
      keep = co_await answer_one();
      if (keep) parser_.reset();
      if (keep && rest_.empty()) co_return co_await flush();
    }
    if (!keep || out_.size() >= owner_.options_.corked_bytes_max) keep &= co_await flush();
  }
  co_return false;
}

/// A head has begun and its end is missing: the part that is there moves, so that the block is
/// free.
task<bool> exchange::more_head() {
  if (carry_.empty() || rest_.data() != carry_.data()) {
    std::string kept(rest_);
    carry_ = std::move(kept);
    block_.release();
    body_block_.release();
  }
  if (!co_await flush()) co_return false;
  auto in = co_await as_expected(with_timeout(conn_.receive(), owner_.options_.header_timeout));
  if (!in && in.error() == std::errc::timed_out)
    refuse(408, "the head of the request took too long");
  if (!in || in->empty()) {
    co_await flush();
    co_return false;
  }
  carry_.append(in->text());
  rest_ = carry_;
  co_return true;
}

void exchange::begin_body() {
  const request_head& head = parser_.head();
  body_ = head.body();
  body_left_ = head.content_length();
  body_read_ = 0;
  chunks_.reset();
  continue_due_ = head.expects_continue();
}

task<std::string_view> exchange::read_body() {
  if (body_ == framing::none || (body_ == framing::length && body_left_ == 0)) {
    body_ = framing::none;
    co_return std::string_view{};
  }
  for (;;) {
    if (!rest_.empty()) {
      if (body_ == framing::length) {
        const std::string_view part = rest_.substr(
            0, static_cast<std::size_t>(std::min<std::uint64_t>(rest_.size(), body_left_)));
        rest_.remove_prefix(part.size());
        body_left_ -= part.size();
        body_read_ += part.size();
        co_return part;
      }
      const chunk_piece piece = chunks_.feed(rest_);
      rest_.remove_prefix(piece.consumed);
      switch (piece.what) {
        case chunk_piece::kind::data:
          body_read_ += piece.bytes.size();
          co_return piece.bytes;
        case chunk_piece::kind::done:
          body_ = framing::none;
          co_return std::string_view{};
        case chunk_piece::kind::failed:
          throw failure(
              std::make_error_code(status_of(chunks_.error()) == 413 ? std::errc::message_size
                                                                     : std::errc::bad_message),
              std::string(describe(chunks_.error())));
        case chunk_piece::kind::trailer:
        case chunk_piece::kind::need_more:
          continue;
      }
    }
    if (std::exchange(continue_due_, false)) {
      out_ += "HTTP/1.1 100 Continue\r\n\r\n";
      const bool sent = co_await flush();
      if (!sent) throw failure(std::make_error_code(std::errc::connection_reset));
    }
    body_block_.release();
    body_block_ = co_await with_timeout(conn_.receive(), owner_.options_.body_timeout);
    if (body_block_.empty())
      throw failure(std::make_error_code(std::errc::connection_reset),
                    "the connection ended inside a request body");
    rest_ = body_block_.text();
  }
}

/// What the handler left unread must go before the next request; too much of it ends the
/// connection.
task<bool> exchange::finish_body() {
  if (continue_due_ && body_read_ == 0 && rest_.empty()) co_return false;  // it was never sent
  const std::uint64_t before = body_read_;
  try {
    while (body_ != framing::none) {
      const std::string_view part = co_await read_body();
      if (part.empty()) break;
      if (body_read_ - before > owner_.options_.drain_bytes_max) co_return false;
    }
  } catch (const std::system_error&) {
    co_return false;
  }
  co_return true;
}

task<bool> exchange::answer_one() {
  server& s = owner_;
  const time_point since = worker::running().now;  // when this turn began: queueing counts too
  begin_body();
  const request_head& head = parser_.head();
  const bool head_only = head.verb() == method::head;
  request asked(*this);
  response r;
  try {
    r = co_await s.answer_(asked);
  } catch (const std::system_error& e) {
    if (e.code() == std::errc::operation_canceled) throw;
    if (e.code() == std::errc::message_size) {
      r = error_response(413, "the body is larger than this server takes");
    } else if (e.code() == std::errc::bad_message) {
      r = error_response(400, e.what());
    } else if (e.code() == std::errc::timed_out) {
      r = error_response(408, "the body took too long");
    } else {
      r = error_response(500, "");
    }
    r.close();
  } catch (const std::exception&) {
    r = error_response(500, "");
    r.close();
  }
  if (!r.headers_ok()) {
    r = error_response(500, "");
    r.close();
  }
  bool keep = head.keep_alive() && !r.closes_ && !s.stopping_;
  if (body_ != framing::none && !co_await finish_body()) keep = false;

  const bool has_body = body_allowed(r.status());
  write_head(r, !keep, has_body);
  const std::uint64_t length = head_only || !has_body ? 0 : r.length();
  count(r.status(), length, since, true);
  if (length == 0) co_return keep;
  if (r.file_) co_return co_await send_file(r) && keep;
  if (r.body_.size() <= small_body) {
    out_.append(r.body_.bytes().text());
    co_return keep;
  }
  chain both(std::move(out_));
  out_.clear();
  both.append(std::move(r.body_));
  s.counters_.bytes += both.size();
  auto sent =
      co_await as_expected(with_timeout(conn_.write(std::move(both)), s.options_.write_timeout));
  if (!sent) ++s.counters_.errors;
  co_return keep&& sent;
}

task<bool> exchange::send_file(response& r) {
  if (!co_await flush()) co_return false;
  std::string part;
  std::uint64_t at = r.file_offset_;
  std::uint64_t left = r.file_length_;
  while (left > 0) {
    part.resize(static_cast<std::size_t>(std::min<std::uint64_t>(left, file_part)));
    const std::int64_t got = co_await read_at(r.file_.number(), part.data(), part.size(), at);
    if (got <= 0) {  // the file shrank: the promised length cannot be kept
      ++owner_.counters_.errors;
      co_return false;
    }
    part.resize(static_cast<std::size_t>(got));
    at += static_cast<std::uint64_t>(got);
    left -= static_cast<std::uint64_t>(got);
    auto sent = co_await as_expected(
        with_timeout(conn_.write(byte_view(part)), owner_.options_.write_timeout));
    if (!sent) {
      ++owner_.counters_.errors;
      co_return false;
    }
    owner_.counters_.bytes += part.size();
  }
  co_return true;
}

void exchange::write_head(response& r, bool closes, bool has_body) {
  const std::size_t before = out_.size();
  out_.resize(before + head_room + r.lines_.size() + r.shared_lines_.size());
  head_writer writer(std::span<char>(out_).subspan(before));
  writer.status(r.status()).lines(owner_.fixed_lines_).lines(owner_.date_text());
  writer.lines(r.shared_lines_.bytes().text()).lines(r.lines_);
  if (has_body) writer.content_length(r.length());
  if (closes) {
    writer.lines("Connection: close\r\n");
  } else if (parser_.head().minor_version() == 0) {
    writer.lines("Connection: keep-alive\r\n");
  }
  out_.resize(before + writer.finish().size());
}

void exchange::refuse(int status, std::string_view why) {
  response r = error_response(status, why);
  write_head(r, true, true);
  out_.append(r.body_.bytes().text());
  count(status, r.length(), worker::running().now, false);
}

void exchange::count(int status, std::uint64_t bytes, time_point since, bool parsed) {
  server_counters& c = owner_.counters_;
  ++c.requests;
  if (status >= 500) ++c.errors;
  const nanoseconds took = worker::running().sched.read_clock() - since;
  c.latency_ns.record(static_cast<std::uint64_t>(took.count()));
  if (owner_.options_.log)
    owner_.options_.log({parsed ? &parser_.head() : nullptr, &peer(), status, bytes, took});
}

task<bool> exchange::flush() {
  if (out_.empty()) co_return true;
  auto sent = co_await as_expected(
      with_timeout(conn_.write(byte_view(out_)), owner_.options_.write_timeout));
  if (sent) {
    owner_.counters_.bytes += out_.size();
  } else {
    ++owner_.counters_.errors;
  }
  out_.clear();
  co_return static_cast<bool>(sent);
}

const request_head& request::head() const noexcept { return on_->head(); }
const address& request::peer() const noexcept { return on_->peer(); }
task<std::string_view> request::read() { return on_->read_body(); }

task<std::string> request::text() {
  std::string all;
  for (;;) {
    const std::string_view part = co_await on_->read_body();
    if (part.empty()) co_return all;
    all += part;
  }
}

}  // namespace heddle::http
