// SPDX-License-Identifier: MIT
// Request after request: parse, call the handler, gather the answers. Bodies of requests are read
// in request_body.cc, answers are sent in send_answer.cc and, bit by bit, in stream_answer.cc.
#include "http/exchange.hh"

#include "heddle/core/deadline.hh"
#include "heddle/core/yield.hh"
#include "heddle/http/problem_details.hh"
#include "heddle/http/status.hh"

namespace heddle::http {
namespace {

// Copied behind its head. Above it a second piece in the same send is cheaper: the copies of a
// whole batch would live at once, and the allocator gives such memory back to the system each time.
constexpr std::size_t small_body = 4 * 1024;

/// Waits for a handler, and keeps its answer where the handler put it: answers are large to move.
class answer_wait : public join_of<response> {
 public:
  answer_wait() noexcept = default;
  answer_wait(const answer_wait&) = delete;
  ~answer_wait() {
    if (handler_) handler_.destroy();  // the exchange ends while the handler waits
  }
  /// An answer that no handler gave, or in the place of what one gave before it failed.
  void put(response&& other) {
    if (has_value) {
      value = std::move(other);
    } else {
      store(std::move(other));
    }
  }
  /// Call it, then await this.
  void begin(task<response> handler) noexcept { handler_ = handler.release(); }

  [[nodiscard]] bool await_ready() const noexcept {
    HEDDLE_ASSERT(handler_, "a handler gave back a task that was awaited, spawned or moved from");
    return false;
  }
  [[nodiscard]] std::coroutine_handle<> await_suspend(std::coroutine_handle<> here) noexcept {
    waiter = here;
    handler_.promise().set_parent(*this);
    return heddle::detail::transfer_to(handler_);
  }
  void await_resume() {
    handler_ = nullptr;
    if (error) [[unlikely]]
      std::rethrow_exception(std::move(error));
  }

 private:
  task<response>::handle handler_;
};

}  // namespace

exchange::exchange(server& owner, tcp_stream& conn, overload_control::credit& credit)
    : owner_(owner),
      conn_(conn),
      rest_(hold(block_, conn.take(), carry_)),
      parser_(owner.head_bounds_, &owner.host_),
      chunks_(owner.head_bounds_),
      credit_(credit) {
  if (owner.spare_outs_.empty()) return;
  owner.spare_out_bytes_ -= owner.spare_outs_.back().capacity();
  out_ = std::move(owner.spare_outs_.back());
  owner.spare_outs_.pop_back();
}

exchange::~exchange() {
  if (untimed_ != 0) [[unlikely]]
    time_answers();
  std::vector<std::string>& spare = owner_.spare_outs_;
  const std::size_t room = out_.capacity();
  const bool some = room > std::string().capacity();  // else nothing was gathered
  if (some && room <= spare_out_bytes_max &&
      owner_.spare_out_bytes_ + room <= spare_outs_bytes_max && spare.size() < spare_outs_max)
      [[likely]] {
    owner_.spare_out_bytes_ += room;
    out_.clear();
    spare.push_back(std::move(out_));
  }
  let_go(block_);
  let_go(body_block_);
}

/// Keeps a block, or a copy of it when requests in progress hold too many: a slow client may hold
/// memory of its own, never the blocks that all the others need.
std::string_view exchange::hold(received& slot, received&& in, std::string& copy) {
  if (in.empty()) [[unlikely]]
    return {};
  if (!in.on_loan()) [[unlikely]] {  // the driver was short of blocks already
    ++owner_.counters_.block_copies;
    slot = std::move(in);
    return slot.text();
  }
  if (owner_.blocks_held_ < owner_.blocks_max_) [[likely]] {
    ++owner_.blocks_held_;
    slot = std::move(in);
    return slot.text();
  }
  ++owner_.counters_.block_copies;
  copy.assign(in.text());
  in.release();
  return copy;
}

void exchange::let_go(received& slot) noexcept {
  if (slot.on_loan()) --owner_.blocks_held_;
  slot.release();
}

const address& exchange::peer() noexcept {
  if (!peer_) peer_ = conn_.peer();
  return peer_;
}

task<bool> exchange::run(server& owner, tcp_stream& conn, overload_control::credit& credit) {
  exchange x(owner, conn, credit);
  std::size_t in_a_row = 0;
  bool keep = true;
  while (keep) {
    const parse_state state = x.parser_.feed(x.rest_);
    if (state == parse_state::failed) {
      x.refuse_head();
      keep = false;
    } else if (state == parse_state::need_more) {
      keep = co_await x.more_head();
      if (!keep) break;
    } else {
      x.rest_.remove_prefix(x.parser_.consumed());
      keep = co_await x.answer_one();
      if (keep) x.parser_.reset();
      if (keep && x.rest_.empty()) {
        if (x.sent_at_once()) co_return true;
        co_return co_await x.flush();
      }
      if (++in_a_row == owner.options_.pipeline_max) {
        in_a_row = 0;
        ++owner.counters_.pipeline_pauses;
        if (!x.sent_at_once()) keep &= co_await x.flush();
        if (keep) co_await yield();
      }
    }
    if (!keep || x.out_.size() >= owner.options_.corked_bytes_max) {
      if (!x.sent_at_once()) keep &= co_await x.flush();
    }
  }
  if (x.reset_) {
    conn.set_reset_on_close();
    co_return false;
  }
  if (x.linger_ || !x.rest_.empty())
    static_cast<void>(
        co_await as_expected(with_timeout(x.linger(), owner.options_.linger_timeout)));
  co_return false;
}

/// Closing while the client still sends would tell it of a reset instead of our answer, so what
/// comes is read and dropped for a while.
task<> exchange::linger() {
  let_go(block_);
  let_go(body_block_);
  conn_.shutdown_write();
  std::size_t left = owner_.options_.drain_bytes_max;
  for (;;) {
    const received in = co_await conn_.receive();
    if (in.empty() || in.size() >= left) co_return;
    left -= in.size();
  }
}

/// A head has begun and its end is missing: the part that is there moves, so that the block is
/// free. All of the head has to come before one deadline.
task<bool> exchange::more_head() {
  if (carry_.empty() || rest_.data() != carry_.data()) {
    std::string kept(rest_);
    carry_ = std::move(kept);
    let_go(block_);
    let_go(body_block_);
    body_copy_.clear();
  }
  if (!co_await flush()) co_return false;
  if (head_due_ == never)
    head_due_ = add_saturated(worker::running().now, owner_.options_.header_timeout);
  auto in = co_await as_expected(with_deadline(conn_.receive(), head_due_));
  if (!in && in.error() == std::errc::timed_out) {
    ++owner_.counters_.header_timeouts;
    refuse(408, "the head of the request took too long");
  }
  if (!in || in->empty()) {
    co_await flush();
    co_return false;
  }
  carry_.append(in->text());
  rest_ = carry_;
  co_return true;
}

/// The handler threw: what that means to the client. A cancelled handler goes on unwinding.
response exchange::answer_of_failure() {
  response r;
  try {
    throw;
  } catch (const status_error& e) {
    r = owner_.options_.error_page ? error(&head(), e.status(), e.details().detail)
                                   : problem_response(head(), e.details());
    if (body_failed_ != 0) r.close();
    return r;
  } catch (const std::system_error& e) {
    if (e.code() == std::errc::operation_canceled) throw;
    if (body_failed_ != 0) {
      r = error(&head(), body_failed_, e.what());
    } else if (e.code() == std::errc::timed_out) {
      r = error(&head(), 503, "the answer took too long");
    } else {
      r = error(&head(), 500, "");
    }
  } catch (...) {
    r = error(&head(), 500, "");
  }
  r.close();
  return r;
}

response exchange::error(const request_head* head, int status, std::string_view why) const {
  if (owner_.options_.error_page) return owner_.options_.error_page(head, status, why);
  if (head == nullptr) return error_response(status, why);
  return problem_response(*head, {.status = status, .detail = std::string(why)});
}

task<bool> exchange::answer_one() {
  server& s = owner_;
  const time_point since = worker::running().now;  // when this turn began: queueing counts too
  begin_body();
  const request_head& head = parser_.head();
  request asked(*this);
  answer_wait answer;
  shed_ = !s.admit(head, credit_);
  if (shed_) [[unlikely]] {
    answer.put(s.refusal());
  } else {
    try {
      answer.begin(s.answer_(asked));
      co_await answer;
    } catch (...) {
      answer.put(answer_of_failure());
    }
  }
  response& r = answer.value;
  if (stream_status_ != 0) [[unlikely]] {
    const bool whole = r.sent_ && end_stream();
    if (!whole) ++s.counters_.errors;
    // Where the end of the connection is the end of the body, an orderly one would say: all of it.
    reset_ = !whole && stream_end_ == ending::close;
    count(stream_status_, stream_bytes_, since, true);
    stream_status_ = 0;
    linger_ = whole && body_ != framing::none;
    if (!whole || !stream_keep_) co_return false;
    linger_ = !co_await finish_body();
    co_return !linger_;
  }
  if (!r.sendable(head.verb() == method::head)) [[unlikely]] {
    r = error(&head, 500, "");
    r.close();
  }
  // What is left of the body is read after the answer has been gathered, so that nobody waits for
  // an answer that is known.
  bool keep = head.keep_alive() && !r.closes_ && !s.stopping_;
  const bool unread = body_ != framing::none;
  if (unread && !(keep && worth_reading())) {
    const bool none_sent = continue_due_ && rest_.empty();
    if (keep && body_failed_ == 0 && !none_sent) ++s.counters_.bodies_abandoned;
    keep = false;
    linger_ = true;
  }
  const bool has_body = body_allowed(r.status());
  if (!keep) conn_.cork();  // the end leaves with the last bytes
  write_head(r, !keep, has_body ? ending::length : ending::none);
  const std::uint64_t length = head.verb() == method::head || !has_body ? 0 : r.length();
  count(r.status(), length, since, true);
  if (length != 0) {
    if (r.file_) {
      keep = co_await send_file(r) && keep;
    } else if (r.body_.size() <= small_body) {
      out_.append(r.body_.bytes().text());
    } else {
      const piece rest = r.body_.slice(body_sent_at_once(r.body_));
      if (!rest.empty() || !out_.empty()) keep = co_await send_body(rest) && keep;
    }
  }
  if (unread && keep) {
    linger_ = !co_await finish_body();
    keep = !linger_;
  }
  co_return keep;
}

void exchange::refuse_head() {
  const int status = status_of(parser_.error());
  server_counters& c = owner_.counters_;
  ++(status == 414 ? c.uris_too_long : status == 431 ? c.heads_too_large : c.bad_heads);
  refuse(status, describe(parser_.error()));
}

void exchange::refuse(int status, std::string_view why) {
  shed_ = false;
  added_lines_.clear();
  response r = error(nullptr, status, why);
  conn_.cork();
  write_head(r, true, ending::length);
  out_.append(r.body_.bytes().text());
  count(status, r.length(), worker::running().now, false);
  linger_ = true;
}

void exchange::count(int status, std::uint64_t bytes, time_point since, bool parsed) {
  server_counters& c = owner_.counters_;
  ++c.requests;
  if (status >= 500 && !shed_) ++c.errors;
  if (!rest_.empty() && !owner_.options_.log && !shed_ && untimed_ < untimed_max &&
      (untimed_ == 0 || since == untimed_since_)) {
    ++untimed_;
    untimed_since_ = since;
    return;
  }
  time_answers();
  const nanoseconds took = owner_.control_.meter().now() - since;
  if (!shed_) c.latency_ns.record(static_cast<std::uint64_t>(took.count()));
  if (owner_.options_.log)
    owner_.options_.log({parsed ? &parser_.head() : nullptr, &peer(), status, bytes, took});
}

/// Answers to requests that came together leave together, and so the clock is read once for them.
void exchange::time_answers() {
  const time_point now = worker::running().sched.read_clock();
  owner_.control_.meter().note_time(now);
  for (; untimed_ != 0; --untimed_)
    owner_.counters_.latency_ns.record(static_cast<std::uint64_t>((now - untimed_since_).count()));
}

}  // namespace heddle::http
