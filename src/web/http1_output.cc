// SPDX-License-Identifier: MIT
// Writes heads, gathers small bodies, and sends large ones in steps.
#include "web/http1_output.hh"

#include <algorithm>
#include <utility>

#include "heddle/core/deadline.hh"
#include "heddle/http/head_writer.hh"

namespace heddle::http {
namespace {

constexpr std::size_t head_room = 512;  // for the writer, in addition to the handler's lines

}  // namespace

void http1_output::write_head(const response& r, const field_list& added, framing how,
                              connection_field what) {
  const std::size_t before = gathered.size();
  const std::size_t room = before + head_room + shared_.opening.fixed_lines().size() +
                           r.fields().lines().size() + r.shared_lines().size() +
                           added.lines().size();
  gathered.resize_and_overwrite(room, [&](char* bytes, std::size_t) {
    head_writer writer(std::span<char>(bytes, room).subspan(before));
    put_head(writer, r, added, how, what);
    return before + writer.finish().size();
  });
}

void http1_output::put_head(head_writer& writer, const response& r, const field_list& added,
                            framing how, connection_field what) {
  if (r.from_elsewhere()) {
    writer.status(r.status());
    if (!r.dated()) writer.lines(shared_.opening.date_text());
  } else if (r.status() == 200) [[likely]] {
    writer.lines(shared_.opening.of_success());
  } else {
    writer.status(r.status())
        .lines(shared_.opening.fixed_lines())
        .lines(shared_.opening.date_text());
  }
  const bool stated = r.length_line() != 0 && how == framing::length;
  std::string_view lines = r.shared_lines();
  if (!stated) lines.remove_suffix(r.length_line());
  writer.lines(lines);
  if (!r.fields().empty()) writer.lines(r.fields().lines());
  if (!added.empty()) writer.lines(added.lines());
  if (stated) {
    // The shared lines contain it.
  } else if (how == framing::length) {
    writer.content_length(r.length());
  } else if (how == framing::chunked) {
    writer.lines("Transfer-Encoding: chunked\r\n");
  }
  if (what == connection_field::absent) [[likely]]
    return;
  writer.lines(what == connection_field::close        ? "Connection: close\r\n"
               : what == connection_field::keep_alive ? "Connection: keep-alive\r\n"
                                                      : "Connection: Upgrade\r\n");
}

bool http1_output::note_sent(const result<std::size_t>& sent, std::size_t bytes) {
  shared_.counters.bytes += bytes;
  if (sent) [[likely]]
    return true;
  if (sent.error() == std::errc::timed_out && bytes != 0) return true;
  broken_ = true;
  conn_.cut();
  ++shared_.counters.errors;
  if (sent.error() == std::errc::timed_out) ++shared_.counters.write_timeouts;
  return false;
}

task<bool> http1_output::send_body(piece body) {
  const std::size_t step = shared_.options.send_bytes_max;
  take_back();
  while (!body.empty() || unsent()) {
    if (conn_.sends_uncopied(body)) {
      if (!co_await has_room()) co_return false;
      const std::size_t before = gathered.size() + body.size();
      body = body.slice(body_sent_at_once(body));
      if (gathered.size() + body.size() != before) continue;
    }
    const std::size_t copied = std::min(body.size(), step);
    chain part;
    part.append_view(byte_view(gathered)).append(body.slice(0, copied));
    std::size_t count = 0;
    auto sent = co_await as_expected(
        with_timeout(conn_.write_some(std::move(part), count), shared_.options.write_timeout));
    if (!note_sent(sent, count)) co_return false;
    const std::size_t of_gathered = std::min(count, gathered.size());
    gathered.erase(0, of_gathered);
    body = body.slice(count - of_gathered);
  }
  co_return true;
}

mutex::hold http1_output::turn_at_once() {
  if (!sending_) sending_.emplace();
  return sending_->try_lock();
}

task<mutex::hold> http1_output::wait_for_turn(on_cancel then) {
  auto turn = co_await as_expected(sending_->lock());
  if (turn && !broken_) co_return std::move(*turn);
  const bool keeps =
      !turn && then == on_cancel::keeps && turn.error() == std::errc::operation_canceled;
  if (!turn && !keeps) static_cast<void>(note_sent(std::unexpected(turn.error()), 0));
  co_return mutex::hold();
}

task<bool> http1_output::send_views(std::string_view a, std::string_view b, std::string_view c) {
  mutex::hold turn = turn_at_once();
  if (!turn) turn = co_await wait_for_turn(on_cancel::cuts);
  if (!turn) co_return false;
  const std::unique_ptr<std::string> kept = std::exchange(kept_, {});
  std::string_view first = kept ? *kept : std::string_view();
  while (!first.empty() || !a.empty() || !b.empty() || !c.empty() || conn_.flush_due()) {
    chain all;
    for (const std::string_view each : {first, a, b, c})
      if (!each.empty()) all.append_view(each);
    std::size_t count = 0;
    auto sent = co_await as_expected(
        with_timeout(conn_.write_some(std::move(all), count), shared_.options.write_timeout));
    if (!note_sent(sent, count)) co_return false;
    for (std::string_view* each : {&first, &a, &b, &c}) {
      const std::size_t of_it = std::min(count, each->size());
      each->remove_prefix(of_it);
      count -= of_it;
    }
  }
  co_return true;
}

/// Counts bytes that were sent and drops them from `gathered`; returns the bytes sent beyond these.
std::size_t http1_output::drop_sent(std::size_t bytes) {
  shared_.counters.bytes += bytes;
  if (bytes >= gathered.size()) [[likely]] {
    bytes -= gathered.size();
    gathered.clear();
    return bytes;
  }
  gathered.erase(0, bytes);
  return 0;
}

std::size_t http1_output::body_sent_at_once(const piece& body) {
  const std::size_t step = shared_.options.send_bytes_max;
  take_back();
  const sent_now sent = body.size() <= step
                            ? conn_.try_write(byte_view(gathered), body)
                            : conn_.try_write(byte_view(gathered), body.slice(0, step));
  return drop_sent(sent.bytes);
}

task<bool> http1_output::flush(on_cancel then) {
  if (untimed_ != 0) time_answers();
  if (broken_) co_return false;
  if (!unsent()) co_return true;
  // A handler may gather more meanwhile, or read a body, which flushes too.
  std::string sending = std::exchange(gathered, {});
  mutex::hold turn = turn_at_once();
  if (!turn) turn = co_await wait_for_turn(then);
  if (turn && kept_) [[unlikely]]
    sending.insert(0, *std::exchange(kept_, {}));
  std::string_view left = sending;
  bool went = static_cast<bool>(turn);
  while (went && (!left.empty() || conn_.flush_due())) {
    std::size_t count = 0;
    auto sent = co_await as_expected(
        with_timeout(conn_.write_some(left, count), shared_.options.write_timeout));
    left.remove_prefix(count);
    if (!sent && then == on_cancel::keeps && sent.error() == std::errc::operation_canceled) {
      shared_.counters.bytes += count;
      went = false;
    } else {
      went = note_sent(sent, count);
    }
  }
  if (!went && !broken_) {
    // The task that has the next turn may have taken bytes that come behind these. Without a turn
    // no task waits for one.
    if (turn) kept_ = std::make_unique<std::string>(left);
    if (!turn) gathered.insert(0, left);
  } else if (gathered.empty()) {
    sending.clear();
    gathered = std::move(sending);
  }
  co_return went;
}

void http1_output::time_answers() {
  const time_point now = worker::running().sched.read_clock();
  shared_.shedding.control().meter().note_time(now);
  for (; untimed_ != 0; --untimed_)
    shared_.counters.latency_ns.record(static_cast<std::uint64_t>((now - untimed_since_).count()));
}

}  // namespace heddle::http
