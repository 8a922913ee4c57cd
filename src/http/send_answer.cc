// SPDX-License-Identifier: MIT
// Answers on their way out: the head's lines, gathered small bodies, large ones in steps. Files are
// sent in send_file.cc.
#include <algorithm>

#include "heddle/core/deadline.hh"
#include "heddle/http/head_writer.hh"
#include "http/exchange.hh"

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
  for (std::size_t at = 0; at < body.size(); at += step) {
    chain part;
    part.append_view(byte_view(out_)).append(body.slice(at, step));
    const std::size_t size = part.size();
    auto sent = co_await as_expected(
        with_timeout(conn_.write(std::move(part)), owner_.options_.write_timeout));
    out_.clear();
    if (!note_sent(sent, size)) co_return false;
  }
  co_return true;
}

/// Whether all that was gathered has left without a wait. What has not stays gathered.
bool exchange::sent_at_once() {
  const std::size_t sent = conn_.try_write(byte_view(out_));
  owner_.counters_.bytes += sent;
  if (sent == out_.size()) [[likely]] {
    out_.clear();
    return true;
  }
  out_.erase(0, sent);
  return false;
}

task<bool> exchange::flush() {
  if (out_.empty()) co_return true;
  auto sent = co_await as_expected(
      with_timeout(conn_.write(byte_view(out_)), owner_.options_.write_timeout));
  const bool went = note_sent(sent, out_.size());
  out_.clear();
  co_return went;
}

}  // namespace heddle::http
