// SPDX-License-Identifier: MIT
// Sends the body of a request beside the task that reads the answer.
#include "client/upload.hh"

#include "heddle/core/expected.hh"
#include "heddle/core/scope.hh"
#include "heddle/sched/runtime.hh"

namespace heddle::http::detail {
namespace {

constexpr std::size_t piece_bytes = 64 * 1024;  // each must leave within client_timeouts::transfer

}  // namespace

task<bool> body_upload::send_bytes() {
  for (std::string_view rest = std::string_view(bytes_).substr(from_); !rest.empty();) {
    const std::string_view piece = rest.substr(0, piece_bytes);
    if (const bool taken = co_await put(piece); !taken) co_return false;
    rest.remove_prefix(piece.size());
  }
  co_return co_await finish();
}

task<bool> body_upload::send_parts() {
  std::uint64_t left = length_.value_or(0);
  for (;;) {
    const std::string part = co_await parts_();
    if (part.empty()) break;
    if (length_) {
      if (part.size() > left)
        throw failure(std::make_error_code(std::errc::message_size),
                      "the body_source gave more bytes than the length that it was declared with");
      left -= part.size();
    }
    if (const bool taken = co_await put(part); !taken) co_return false;
  }
  if (left != 0)
    throw failure(std::make_error_code(std::errc::message_size),
                  "the body_source gave fewer bytes than the length that it was declared with");
  co_return co_await finish();
}

task<> body_upload::run(std::shared_ptr<body_upload> self) {
  try {
    const bool begun = co_await self->begin();
    if (begun && self->parts_) {
      self->sent_ = co_await self->send_parts();
    } else if (begun) {
      self->sent_ = co_await self->send_bytes();
    }
  } catch (const std::system_error& e) {
    if (e.code() != std::errc::operation_canceled || !self->stop_.canceled())
      self->failed_ = std::current_exception();
  } catch (...) {
    self->failed_ = std::current_exception();
  }
  self->ended_ = true;
  if (self->failed_) self->abandon();
  self->over_.cancel();
}

task<> body_upload::run_until_stopped(std::shared_ptr<body_upload> self) {
  co_await with_cancel(self->stop_, run(self));
}

void body_upload::start(std::shared_ptr<body_upload> self) {
  spawn(run_until_stopped(std::move(self)));
}

}  // namespace heddle::http::detail
