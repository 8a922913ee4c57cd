// SPDX-License-Identifier: MIT
// Reads an answer and passes it on. While an upstream is silent, the client's connection is watched
// too, so that a request whose client has left does not go on.
#include <algorithm>
#include <utility>

#include "heddle/base/sometimes.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/sleep.hh"
#include "heddle/web/body_writer.hh"
#include "proxy/fields.hh"
#include "proxy/passage.hh"

namespace heddle::http::detail {
namespace {

// Most answers come before the client's connection is watched at all, which then costs nothing.
constexpr nanoseconds watch_after = std::chrono::milliseconds(200);
// How often a wait that has no end of its own looks whether the upload has ended.
constexpr nanoseconds upload_step = std::chrono::seconds(1);
constexpr nanoseconds reason_patience = std::chrono::milliseconds(1);
constexpr std::size_t gathered_max = 64 * 1024;  // bytes of a body in one write to the client

[[noreturn]] void break_off(int status, std::string why, bool gone = false) {
  throw upstream_failure{status, std::move(why), gone};
}

bool has_length(const response_head& head) { return head.has("content-length"); }

task<std::string> reason_of_broken(stream on, std::string otherwise) {
  try {
    static_cast<void>(co_await with_timeout(on.receive(), reason_patience));
  } catch (const std::system_error& e) {
    if (e.code() == std::errc::operation_canceled) throw;
    if (e.code() != std::errc::timed_out) co_return layer_failure(e).what();
  }
  co_return otherwise;
}

}  // namespace

/// Whether the client has left during the upload. No read meets its end while the upstream takes
/// nothing.
bool passage::client_left_upload(std::uint64_t moved_before) const noexcept {
  const client_side now = r_.look_at_client();
  if (now != client_side::ended) return now == client_side::lost;
  // A client that has sent its whole body and closed its sending side gets its answer if that comes
  // soon. So nothing happens before the upstream holds the upload up.
  return core_.options.cancel_when_client_ends && handing_ == handing::part &&
         exchange_->moved() == moved_before;
}

task<> passage::watch_client(passage& p) {
  while (p.uploading()) {
    const std::uint64_t moved = p.exchange_->moved();
    co_await sleep_for(watch_after);
    if (!p.uploading() || !p.client_left_upload(moved)) continue;
    p.client_left_ = true;
    p.waiting_->cancel();
    co_return;
  }
  if (!p.core_.options.cancel_when_client_ends) co_return;
  p.client_left_ = co_await p.r_.client_ended();
  if (p.client_left_) p.waiting_->cancel();
}

/// Waits for bytes, for the client to leave, or for an upload to stall. Without bytes, the error is
/// timed_out.
task<result<bool>> passage::arrive_watching(nanoseconds patience) {
  cancel_source stop;
  scope beside;
  if (uploading() || core_.options.cancel_when_client_ends) beside.spawn(watch_client(*this));
  waiting_ = &stop;
  auto in = co_await as_expected(with_cancel(stop, with_timeout(exchange_->arrive(), patience)));
  beside.cancel();
  co_await beside.settled();  // watch_client() may have its result already, and end the wait
  waiting_ = nullptr;
  if (!in && in.error() == std::errc::operation_canceled && stop.canceled())
    in = std::unexpected(std::make_error_code(std::errc::timed_out));
  co_return in;
}

void passage::fail_stalled() const {
  const char* const why = has_body() ? "it took nothing of the request's body in time"
                                     : "it took nothing of the request in time";
  throw upstream_failure{
      .status = 504, .why = std::string(why) + " (timeouts.transfer)", .body = has_body()};
}

task<bool> passage::more(nanoseconds patience, const char* where) {
  const time_point due = add_saturated(clock::now(), patience);
  auto in =
      co_await as_expected(with_timeout(exchange_->arrive(), std::min(patience, watch_after)));
  if (!in && in.error() == std::errc::timed_out && clock::now() < due && !client_left_ &&
      !request_stalls())
    in = co_await arrive_watching(span_between(clock::now(), due));
  if (upload_failed_) std::rethrow_exception(upload_failed_);
  if (client_left_) break_off(502, "the client has left");
  if (!in && request_stalls()) fail_stalled();
  if (!in) {
    if (in.error() == std::errc::operation_canceled) throw failure(in.error());
    if (in.error() == std::errc::timed_out)
      break_off(504, std::string("it sent nothing in time ") + where);
    if (exchange_->answered()) HEDDLE_SOMETIMES("an upstream breaks in the middle of its answer");
    std::string why = in.error().message();
    // Above TLS the code alone misleads; a broken layer says its reason again.
    if (use_.of().secure() && use_.on) why = co_await reason_of_broken(use_.on, std::move(why));
    break_off(502, std::string("its connection broke ") + where + ": " + why,
              !exchange_->answered());
  }
  co_return *in;
}

/// How long the head may still take. While the request is being sent, each write has its own limit.
nanoseconds passage::answer_patience() const noexcept {
  if (uploading()) return upload_step;
  return core_.options.timeouts.answer;
}

/// Reads one head, which may be one before the answer. False if none came in time.
task<bool> passage::read_head(nanoseconds patience) {
  const time_point began = clock::now();
  for (;;) {
    const parse_state now = exchange_->read_head(answer_);
    if (now == parse_state::done) break;
    if (now == parse_state::failed && exchange_->stalled()) fail_stalled();
    if (now == parse_state::failed) break_off(502, exchange_->fault(), !exchange_->answered());
    bool came = false;
    bool late = false;
    // The rest of a head that has begun has the whole time.
    const time_point due =
        add_saturated(began, exchange_->head_begun() ? core_.options.timeouts.answer : patience);
    try {
      came = co_await more(std::max(span_between(clock::now(), due), nanoseconds(1)),
                           "before the end of the answer's head");
    } catch (const upstream_failure& e) {
      late = e.status == 504 && !exchange_->head_begun() && !request_stalls();
      if (!late) throw;
    }
    if (late) co_return false;
    if (!came)
      break_off(502,
                exchange_->head_begun() ? "its connection ended inside the head of the answer"
                                        : "it closed the connection without an answer",
                !exchange_->head_begun());
  }
  co_return true;
}

/// Passes an answer before the answer on.
task<> passage::inform_client() {
  if (answer_.status() <= 101) co_return;  // the server sends 100 itself
  std::string lines;
  static_cast<void>(put_answer_fields(lines, answer_));
  response before(answer_.status());
  before.shared_lines(piece(std::move(lines)));
  co_await r_.inform(std::move(before));
}

task<> passage::read_final_head() {
  for (std::uint32_t early = 0;;) {
    if (answer_.status() == 0) {
      const time_point since = uploading() ? time_point{} : worker::running().now;
      bool came = co_await read_head(answer_patience());
      while (!came) {
        // The request was still being sent, or its end was a moment ago.
        const nanoseconds waited = worker::running().now - std::max(since, upload_ended_at_);
        if (!uploading() && waited >= core_.options.timeouts.answer)
          break_off(504, "it did not answer in time");
        const nanoseconds left = core_.options.timeouts.answer - waited;
        const nanoseconds patience = uploading() ? answer_patience() : left;
        came = co_await read_head(patience);
      }
    }
    if (!answer_.informational()) co_return;
    if (answer_.status() == 101) {
      if (!core_.options.upgrades || !may_switch_to(offered_upgrade(answer_)))
        break_off(502, "it switched to a protocol that was not asked for");
      co_return;
    }
    if (++early > core_.options.informational_max)
      break_off(502, "it sent too many answers before the answer (informational_max)");
    co_await inform_client();
    answer_ = {};
  }
}

/// Whether the body may follow: the upstream said 100 Continue, or nothing for a while, or it began
/// an answer of success, which needs the body (RFC 9110 section 10.1.1). False if it refused.
task<bool> passage::go_ahead() {
  for (std::uint32_t early = 0; early <= core_.options.informational_max; ++early) {
    const bool came = co_await read_head(core_.options.timeouts.go_ahead);
    if (!came) co_return true;
    if (!answer_.informational()) co_return answer_.status() / 100 == 2;
    if (answer_.status() == 101) break_off(502, "it switched to a protocol before the body came");
    const bool go = answer_.status() == 100;
    co_await inform_client();
    answer_ = {};
    if (go) co_return true;
  }
  break_off(502, "it sent too many answers before the answer (informational_max)");
}

task<response> passage::exchange_alone() {
  co_await send_head();
  answer_ = {};
  if (handing_ == handing::rest_due) co_return co_await answer_beside_upload(true);
  co_await read_final_head();
  co_return co_await relay();
}

task<response> passage::exchange_beside_upload() {
  co_await send_head();
  answer_ = {};
  bool sends = true;
  if (waits_ && !upload_begun()) sends = co_await go_ahead();
  co_return co_await answer_beside_upload(sends);
}

task<response> passage::answer_beside_upload(bool sends) {
  scope beside;
  if (sends) {
    move_to(upload_state::running);
    beside.spawn(upload(*this));
  }
  std::exception_ptr failed;
  std::optional<upstream_failure> broken;
  std::optional<response> answer;
  try {
    co_await read_final_head();
    // The upstream speaks the other protocol once it has the whole request.
    if (answer_.status() == 101) co_await beside.settled();
    answer.emplace(co_await relay());
  } catch (upstream_failure& e) {
    broken = std::move(e);
  } catch (...) {
    failed = std::current_exception();
  }
  if (uploading()) move_to(upload_state::stopped);
  beside.cancel();
  co_await beside.settled();
  if (failed) std::rethrow_exception(failed);
  if (broken) throw std::move(*broken);
  co_return std::move(*answer);
}

/// The connection is used again only if both sides have sent everything and nothing else.
void passage::end_of_body() {
  const bool clean =
      sent_whole() && exchange_->leaves_clean(answer_) && core_.options.proxy_protocol == 0;
  exchange_->end();
  use_.of().note_success();
  if (clean && use_.on)
    use_.keep();
  else
    use_.end();
}

task<response> passage::relay() {
  upstream& from = use_.of();
  ++from.counters.answers;
  if (answer_.status() == 101) co_return co_await relay_upgrade();
  // To extended CONNECT a success would say that the tunnel is open.
  if (!extended_.empty() && answer_.status() / 100 == 2)
    break_off(502, "it did not switch to " + std::string(extended_));
  std::string lines;
  const bool dated = put_answer_fields(lines, answer_);
  response answer(answer_.status());
  answer.from_elsewhere(dated).shared_lines(piece(std::move(lines)));
  framing_ = answer_.body(head_.verb());
  const bool stated = framing_ == framing::length;
  exchange_->begin_body(answer_, head_.verb());
  if (stated && answer_.content_length() > core_.options.bounds.body_bytes_max)
    break_off(502, "its answer is larger than bounds.body_bytes_max");
  const bool known = stated || has_length(answer_);
  if (known) answer.length(answer_.content_length());
  if (const auto body = exchange_->take_whole_body()) {
    const bool has_trailers = !exchange_->trailers().empty();
    if (!has_trailers && !body->empty()) answer.body(piece::copy_of(byte_view(*body)));
    if (!has_trailers) {
      end_of_body();
      co_return answer;
    }
    lent_buffer gathered(core_.buffers);
    gathered.text.append(*body);
    co_return co_await relay_parts(std::move(answer), std::move(gathered));
  }
  // An answer to HEAD without a length is started below, which says that it has none.
  if (exchange_->body_ended() && (known || !body_allowed(answer_.status()))) {
    end_of_body();
    co_return answer;
  }
  lent_buffer gathered(core_.buffers);
  if (stated && answer_.content_length() <= gathered_max) {
    // A body that has arrived whole needs no writer: it leaves with its head, in one call.
    gathered.text.reserve(static_cast<std::size_t>(answer_.content_length()));
    static_cast<void>(fill(gathered.text));
    if (exchange_->body_ended() && exchange_->trailers().empty()) {
      answer.body(piece::held_by(std::move(gathered)));
      end_of_body();
      co_return answer;
    }
  }
  co_return co_await relay_parts(std::move(answer), std::move(gathered));
}

/// Takes bytes of the body that have arrived. True: there may be more of them.
bool passage::fill(std::string& gathered) {
  const bool more = exchange_->fill(gathered, gathered_max);
  if (std::string fault = exchange_->fault(); !fault.empty()) break_off(502, std::move(fault));
  return more;
}

void passage::put_trailers(body_writer& out) const {
  std::string_view lines = exchange_->trailers();
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find("\r\n"), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 2, lines.size()));
    const std::size_t colon = line.find(':');
    if (colon == line.npos) continue;
    const std::string_view name = line.substr(0, colon);
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && (value.front() == ' ' || value.front() == '\t'))
      value.remove_prefix(1);
    while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
    if (trailer_allowed(name) && !connection_names(answer_, name)) out.trailer(name, value);
  }
}

/// `gathered` has what was taken of the body.
task<response> passage::relay_parts(response answer, lent_buffer gathered) {
  body_writer out = co_await r_.start(std::move(answer));
  started_ = true;
  if (framing_ == framing::none) {  // to HEAD, without a length
    end_of_body();
    co_return out.done();
  }
  for (std::string& text = gathered.text;; text.clear()) {
    const bool more_is_here = fill(text);
    // The upstream's pace is the client's: nothing is read before this has left.
    if (!text.empty()) co_await out.write(text);
    if (exchange_->body_ended()) break;
    if (more_is_here) continue;
    if (text.empty()) co_await out.flush();
    const bool came =
        co_await more(core_.options.timeouts.transfer, "inside the body of its answer");
    if (came) continue;
    if (exchange_->end_of_input()) break;
    break_off(502, "its connection ended " + exchange_->missing());
  }
  put_trailers(out);
  end_of_body();
  co_return out.done();
}

}  // namespace heddle::http::detail
