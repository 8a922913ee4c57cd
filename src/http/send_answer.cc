// SPDX-License-Identifier: MIT
// Answers on their way out: the head's lines, gathered small bodies, large ones in steps. Files are
// sent in send_file.cc.
#include <algorithm>

#include "heddle/core/deadline.hh"
#include "heddle/http/head_writer.hh"
#include "http/exchange.hh"
#include "http/ready_answers.hh"

namespace heddle::http {
namespace {

constexpr std::size_t head_room = 512;  // what the writer needs besides the handler's lines

}  // namespace

void exchange::write_head(response& r, bool closes, ending how) {
  const std::size_t before = out_.size();
  const std::size_t room = before + head_room + owner_.fixed_lines_.size() + r.lines_.size() +
                           r.shared_lines_.size() + added_lines_.size();
  out_.resize_and_overwrite(room, [&](char* bytes, std::size_t) {
    head_writer writer(std::span<char>(bytes, room).subspan(before));
    put_head(writer, r, closes, how);
    return before + writer.finish().size();
  });
}

void exchange::put_head(head_writer& writer, const response& r, bool closes, ending how) {
  if (r.status() == 200) [[likely]] {
    writer.lines(owner_.opening());
  } else {
    writer.status(r.status()).lines(owner_.fixed_lines_).lines(owner_.date_text());
  }
  const bool stated = r.length_line_ != 0 && how == ending::length;
  std::string_view shared = r.shared_lines_.bytes().text();
  if (!stated) shared.remove_suffix(r.length_line_);
  writer.lines(shared);
  if (!r.lines_.empty()) writer.lines(r.lines_);
  if (!added_lines_.empty()) writer.lines(added_lines_);
  if (stated) {
    // It is among the shared lines.
  } else if (how == ending::length) {
    writer.content_length(r.length());
  } else if (how == ending::chunked) {
    writer.lines("Transfer-Encoding: chunked\r\n");
  }
  if (closes) {
    writer.lines("Connection: close\r\n");
  } else if (parser_.head().minor_version() == 0) {
    writer.lines("Connection: keep-alive\r\n");
  }
}

bool exchange::note_sent(const result<std::size_t>& sent, std::size_t bytes) {
  if (sent) [[likely]] {
    owner_.counters_.bytes += bytes;
    return true;
  }
  ++owner_.counters_.errors;
  if (sent.error() == std::errc::timed_out) ++owner_.counters_.write_timeouts;
  return false;
}

/// What is gathered and a body behind it. A large one goes in steps, each with its own time.
task<bool> exchange::send_body(piece body) {
  const std::size_t step = owner_.options_.send_bytes_max;
  while (!body.empty() || !out_.empty()) {
    if (conn_.sends_uncopied(body)) {
      if (!co_await has_room()) co_return false;
      const std::size_t before = out_.size() + body.size();
      body = body.slice(body_sent_at_once(body));
      if (out_.size() + body.size() != before) continue;
    }
    const std::size_t copied = std::min(body.size(), step);
    chain part;
    part.append_view(byte_view(out_)).append(body.slice(0, copied));
    const std::size_t size = part.size();
    auto sent = co_await as_expected(
        with_timeout(conn_.write(std::move(part)), owner_.options_.write_timeout));
    out_.clear();
    if (!note_sent(sent, size)) co_return false;
    body = body.slice(copied);
  }
  co_return true;
}

/// Counts what has left, and drops as much of what was gathered; gives what left beyond that.
std::size_t exchange::drop_sent(std::size_t bytes) {
  owner_.counters_.bytes += bytes;
  if (bytes >= out_.size()) [[likely]] {
    bytes -= out_.size();
    out_.clear();
    return bytes;
  }
  out_.erase(0, bytes);
  return 0;
}

/// Whether all that was gathered has left without a wait. What has not stays gathered.
bool exchange::sent_at_once() {
  drop_sent(conn_.try_write(byte_view(out_)));
  return out_.empty();
}

/// How much of a body has left without a wait, behind all that was gathered.
std::size_t exchange::body_sent_at_once(const piece& body) {
  const std::size_t step = owner_.options_.send_bytes_max;
  if (!out_.empty() && body.size() <= step && conn_.sends_uncopied(body)) {
    if (const piece* const whole = owner_.ready_->find(out_, body)) {
      ++owner_.counters_.ready_answers;
      return drop_sent(conn_.try_write({}, *whole));
    }
  }
  const std::size_t sent = body.size() <= step
                               ? conn_.try_write(byte_view(out_), body)
                               : conn_.try_write(byte_view(out_), body.slice(0, step));
  return drop_sent(sent);
}

task<bool> exchange::flush() {
  if (untimed_ != 0) time_answers();
  if (out_.empty()) co_return true;
  auto sent = co_await as_expected(
      with_timeout(conn_.write(byte_view(out_)), owner_.options_.write_timeout));
  const bool went = note_sent(sent, out_.size());
  out_.clear();
  co_return went;
}

}  // namespace heddle::http
