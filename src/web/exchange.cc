// SPDX-License-Identifier: MIT
// The parts of an exchange that do not depend on framing: added fields and error answers.
#include "web/exchange.hh"

#include <new>
#include <string>
#include <system_error>

#include "heddle/base/text.hh"
#include "heddle/web/problem_details.hh"

namespace heddle::http {
namespace {

constexpr std::size_t target_max = 200;  // bytes of a request's path in a report

/// "GET /notes", safe to print.
std::string describe_request(const request_head& head) {
  return printable_text(std::string(head.method_text()) + " " + std::string(head.path()),
                        target_max);
}

}  // namespace

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

response exchange::answer_of_failure() {
  response r;
  try {
    throw;
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
