// SPDX-License-Identifier: MIT
// Parts are views of the received bytes; read() waits only when these are used up.
#include "web/http1_body.hh"

#include <utility>

#include "heddle/core/deadline.hh"

namespace heddle::http {

/// The next part of the received bytes; empty if they are used up or the body has ended.
std::string_view http1_body::take_part() {
  const std::string_view part = decoder_.take(in_.rest);
  budget_.read += part.size();
  const problem what = decoder_.error();
  // A body with a length is compared before it is read.
  if (what == problem::body_too_large ||
      (decoder_.how() == framing::chunked && budget_.read > budget_.bytes_max))
    budget_.fail_too_large(shared_.counters);
  if (what != problem::none)
    budget_.fail(shared_.counters, status_of(what), std::errc::bad_message, describe(what));
  return part;
}

task<std::string_view> http1_body::read() {
  if (decoder_.how() == framing::length && decoder_.left() > budget_.bytes_max && budget_.read == 0)
    budget_.fail_too_large(shared_.counters);
  for (;;) {
    const std::string_view part = take_part();
    if (!part.empty()) {
      continue_due_ = false;  // the client sends without waiting for 100 Continue
      co_return part;
    }
    if (decoder_.ended()) co_return std::string_view{};
    if (std::exchange(continue_due_, false)) out_.gathered += "HTTP/1.1 100 Continue\r\n\r\n";
    // A handler may give up this read and answer, which a cut would prevent.
    const bool sent = co_await out_.flush(on_cancel::keeps);
    if (!sent && !out_.broken()) throw failure(canceled_error());
    if (!sent) budget_.lose_client(std::make_error_code(std::errc::connection_reset));
    in_.drop_part();
    const time_point began = clock::now();
    auto in =
        co_await as_expected(with_timeout(conn_.receive(), budget_.patience(shared_.options)));
    budget_.waited += clock::now() - began;
    if (!in && in.error() == std::errc::timed_out)
      budget_.fail(shared_.counters, 408, std::errc::timed_out, "the body came too slowly");
    if (!in) budget_.lose_client(in.error());
    if (in->empty()) {
      budget_.fail(shared_.counters, 400, std::errc::connection_reset,
                   "the connection ended inside the body of the request");
    }
    in_.take_part(std::move(*in));
  }
}

bool http1_body::worth_reading() const noexcept {
  if (budget_.failed != 0) return false;
  // A client that still waits for 100 Continue has sent no body and need not send one.
  if (continue_due_ && in_.rest.empty()) return false;
  return decoder_.how() != framing::length || decoder_.left() <= shared_.options.drain_bytes_max;
}

task<bool> http1_body::finish() {
  if (decoder_.ended()) co_return true;
  if (!worth_reading()) co_return false;
  const std::uint64_t most = shared_.options.drain_bytes_max;
  continue_due_ = false;
  budget_.bytes_max = ~std::uint64_t{0};
  const std::uint64_t before = budget_.read;
  try {
    while (!decoder_.ended()) {
      const std::string_view part = co_await read();
      if (budget_.read - before > most) {
        ++shared_.counters.bodies_abandoned;
        co_return false;
      }
      if (part.empty()) break;
    }
  } catch (const std::system_error& e) {
    if (e.code() == std::errc::operation_canceled) throw;
    co_return false;
  }
  co_return true;
}

std::string_view http1_body::trailer(std::string_view name) const noexcept {
  return find_trailer(decoder_.trailers(), name);
}

}  // namespace heddle::http
