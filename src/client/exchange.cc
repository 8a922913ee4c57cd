// SPDX-License-Identifier: MIT
// Limits of an answer's body, its unpacking, and the messages of failures.
#include "client/exchange.hh"

#include <algorithm>
#include <utility>

#include "heddle/core/expected.hh"
#include "heddle/http/headers.hh"

namespace heddle::http::detail {
namespace {

constexpr std::size_t plain_bytes = 16 * 1024;

}  // namespace

bool connection_gone(std::error_code code) noexcept {
  return code == std::errc::connection_reset || code == std::errc::broken_pipe ||
         code == std::errc::connection_aborted || code == std::errc::not_connected;
}

client_exchange::client_exchange(std::shared_ptr<const client_options> options, url from,
                                 std::string verb, time_point due)
    : options_(std::move(options)), from_(std::move(from)), verb_(std::move(verb)), due_(due) {}

client_exchange::~client_exchange() {
  if (upload_ != nullptr) upload_->cancel();
}

void client_exchange::fail(std::error_code code, const std::string& what) const {
  if (upload_ != nullptr && upload_->failed()) std::rethrow_exception(upload_->failed());
  throw failure(code, verb_ + ' ' + from_.text() + ": " + what);
}

void client_exchange::fail_wait(std::error_code code, const char* where) const {
  if (code == std::errc::operation_canceled && !(upload_ && upload_->failed())) throw failure(code);
  if (code == std::errc::timed_out && clock::now() >= due_)
    fail(code, std::string("the time for the whole request was over ") + where +
                   "; see client_timeouts::whole and outgoing::timeout()");
  if (code == std::errc::timed_out)
    fail(code, std::string("the server sent nothing in time ") + where +
                   "; see client_options::timeouts and outgoing::timeout()");
  fail(code, std::string("the connection broke ") + where);
}

void client_exchange::fail_informational() const {
  fail(std::make_error_code(std::errc::message_size),
       "the server sent too many informational answers (client_options::informational_max)");
}

void client_exchange::fail_stalled() const {
  fail(std::make_error_code(std::errc::timed_out),
       "the server took nothing of the request's body in time, and has not answered; see "
       "client_timeouts::transfer");
}

time_point client_exchange::head_due() const noexcept {
  return add_saturated(clock::now(), options_->timeouts.answer);
}

time_point client_exchange::limit_of(nanoseconds patience) const noexcept {
  return std::min(due_, add_saturated(clock::now(), patience));
}

task<> client_exchange::begin(const outgoing& what, std::string head, bool unpack) {
  co_await send(what, std::move(head));
  co_await read_head();
  if (head_.body(method_of(verb_)) == framing::length &&
      head_.content_length() > options_->bounds.body_bytes_max)
    fail(std::make_error_code(std::errc::message_size),
         std::string(describe(problem::body_too_large)));
  const bool has_body = begin_body();
  const auto coding = coding_named(head_.value("content-encoding"));
  const bool may_have_bytes = has_body && head_.body(method_of(verb_)) != framing::none;
  if (unpack && may_have_bytes && coding && codings_read().has(*coding)) {
    packed_ = std::make_unique<content_reader>(*coding);
    plain_.resize(plain_bytes);
  }
  if (!has_body) end_of_body();
}

std::string_view client_exchange::counted(std::string_view part) {
  read_ += part.size();
  if (read_ > options_->bounds.body_bytes_max)
    fail(std::make_error_code(std::errc::message_size),
         "the body is larger than client_options::bounds.body_bytes_max");
  return part;
}

std::string_view client_exchange::unpacked() {
  try {
    return {plain_.data(), packed_->read(packed_rest_, plain_)};
  } catch (const failure& e) {
    fail(e.code(), e.what());
  }
}

void client_exchange::check_packed_end() const {
  try {
    packed_->finish();
  } catch (const failure& e) {
    fail(e.code(), e.what());
  }
}

task<std::string_view> client_exchange::read() {
  if (packed_ == nullptr) co_return counted(co_await read_raw());
  for (;;) {
    const std::string_view part = unpacked();
    if (!part.empty()) co_return counted(part);
    packed_rest_ = co_await read_raw();
    if (!packed_rest_.empty()) {
      packed_any_ = true;
      continue;
    }
    if (packed_any_) check_packed_end();  // a body of no bytes is not packed
    co_return std::string_view{};
  }
}

task<> client_exchange::drain() {
  std::uint64_t drained = 0;
  while (drained <= options_->drain_bytes_max) {
    const std::string_view part = co_await read_raw();
    if (part.empty()) co_return;
    drained += part.size();
  }
}

}  // namespace heddle::http::detail
