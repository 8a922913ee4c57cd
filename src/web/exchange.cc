// SPDX-License-Identifier: MIT
// The parts of an exchange that do not depend on framing: the choice of the answer, answers in
// parts, counting, added fields, and error answers.
#include "web/exchange.hh"

#include <new>
#include <string>
#include <system_error>

#include "heddle/base/text.hh"
#include "heddle/http/chunked.hh"
#include "heddle/http/status.hh"
#include "heddle/web/problem_details.hh"
#include "web/answer_wait.hh"

namespace heddle::http {
namespace {

constexpr std::size_t target_max = 200;  // bytes of a request's path in a report

/// "GET /notes", safe to print.
std::string describe_request(const request_head& head) {
  return printable_text(std::string(head.method_text()) + " " + std::string(head.path()),
                        target_max);
}

}  // namespace

void exchange::replace(response& r) const {
  if (opens_by_mistake(r.status())) {
    r = error(&head_, 501, unspoken());
  } else {
    r = error(&head_, 500, "");
    r.close();
  }
}

void exchange::answer_failure(answer_wait& failed) {
  if (started_status_ != 0) cut_started();
  response r = answer_of(std::move(failed.error));
  if (failed.has_value) {  // the handler failed behind its response
    failed.value = std::move(r);
  } else {
    failed.store(std::move(r));
  }
}

task<> exchange::start(response r) {
  HEDDLE_ASSERT(started_status_ == 0, "this request's answer has been started already");
  if (!r.headers_ok() || !status_final(r.status()))
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "a header of the answer, or its status, must not be sent");
  if (opens_by_mistake(r.status())) throw status_error(501, unspoken());
  const bool has_body = body_allowed(r.status());
  begin_parts(r.status(), head_.verb() == method::head || !has_body);
  length_said_ = has_body && r.length_promised();
  left_ = r.length();
  put_started(r);
  co_return;
}

void exchange::begin_parts(int status, bool muted) noexcept {
  started_status_ = status;
  muted_ = muted;
  length_said_ = false;
  written_ = 0;
  trailers_.clear();
}

bool exchange::take_part(std::string_view bytes, bool cut) {
  HEDDLE_ASSERT(started_status_ != 0, "start the answer before you write to it");
  if (cut) throw failure(client_gone(), "an earlier write was cut short");
  if (length_said_) {
    if (bytes.size() > left_)
      throw failure(std::make_error_code(std::errc::message_size),
                    "more was written than response::length() promised");
    left_ -= bytes.size();
  }
  if (muted_ || bytes.empty()) return false;
  written_ += bytes.size();
  return true;
}

void exchange::add_trailer(std::string_view name, std::string_view value) {
  if (!trailer_allowed(name) || !trailers_.add(name, value))
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "this field must not be sent as a trailer");
}

bool exchange::end_parts(bool whole) {
  whole = whole && (!length_said_ || left_ == 0 || muted_);
  if (!whole) ++shared_.counters.errors;
  count(&head_, started_status_, written_);
  return whole;
}

void exchange::count(const request_head* asked, int status, std::uint64_t bytes) {
  server_counters& c = shared_.counters;
  ++c.requests;
  if (status >= 500 && !shed_) ++c.errors;
  const time_point at = answered_at();
  if (at == never) return;
  const nanoseconds took = at - since_;
  if (!shed_) c.latency_ns.record(static_cast<std::uint64_t>(took.count()));
  if (shared_.options.log) shared_.options.log({asked, &peer(), status, bytes, took});
}

void exchange::report_failure() {
  if (shared_.options.failed) {
    try {
      return shared_.options.failed(head_, std::current_exception());
    } catch (...) {  // then the handler's own exception is reported
    }
  }
  shared_.report_failure(describe_request(head_).c_str(), handler_);
}

void exchange::add_field(std::string_view name, std::string_view value) {
  if (is_framing_field(name) || !added_.add(name, value))
    throw failure(
        std::make_error_code(std::errc::invalid_argument),
        "this field must not be sent: its name is not a token, the server sends it itself, "
        "or its value contains a control character");
}

address exchange::client_behind(const address& of_connection) const noexcept {
  const server_options& o = shared_.options;
  if (o.trusted_proxies.empty()) return of_connection;
  try {
    return client_address(head_, of_connection, o.trusted_proxies, o.forwarded_by);
  } catch (const std::bad_alloc&) {
    return of_connection;
  }
}

response exchange::error(const request_head* head, int status, std::string_view why) const {
  if (shared_.options.error_page) return shared_.options.error_page(head, status, why);
  if (head == nullptr) return error_response(status, why);
  return problem_response(*head, {.status = status, .detail = std::string(why)});
}

response exchange::answer_of(std::exception_ptr failed) {
  response r;
  try {
    std::rethrow_exception(std::move(failed));
  } catch (const status_error& e) {
    r = shared_.options.error_page ? error(&head_, e.status(), e.details().detail)
                                   : problem_response(head_, e.details());
    if (budget_.failed != 0) r.close();
    return r;
  } catch (const std::system_error& e) {
    const bool asked =
        worker::running().current_context().canceled() || shared_.draining.canceled();
    if (e.code() == std::errc::operation_canceled && asked) throw;
    if (budget_.failed != 0) {
      r = error(&head_, budget_.failed, e.what());
    } else {
      const bool lost_client =
          budget_.lost_client || (started_status_ != 0 && is_loss_of_client(e.code()));
      if (!lost_client) report_failure();
      r = e.code() == std::errc::timed_out ? error(&head_, 503, "the answer took too long")
                                           : error(&head_, 500, "");
    }
  } catch (...) {
    report_failure();
    r = error(&head_, 500, "");
  }
  r.close();
  return r;
}

}  // namespace heddle::http
