// SPDX-License-Identifier: MIT
// The body of a request as DATA frames bring it. A stream's window bounds the unread bytes, so a
// handler that does not read stops its client, and no other stream.
#include <utility>

#include "heddle/core/deadline.hh"
#include "heddle/http/chunked.hh"
#include "heddle/http/headers.hh"
#include "web/http2_session.hh"

namespace heddle::http {

task<std::string_view> http2_exchange::read_body() {
  if (head_.has(header_id::content_length) && head_.content_length() > budget_.bytes_max &&
      budget_.read == 0)
    budget_.fail_too_large(shared_.counters);
  for (;;) {
    if (!arrived.empty()) {
      part.clear();
      std::swap(part, arrived);
      budget_.read += part.size();
      if (budget_.read > budget_.bytes_max) budget_.fail_too_large(shared_.counters);
      on_.give_back(*this, part.size());
      co_return part;
    }
    if (has_ended_remote()) co_return std::string_view{};
    put_continue();
    out_.flush_soon();
    const time_point began = clock::now();
    const auto came =
        co_await as_expected(with_timeout(news.wait(), budget_.patience(shared_.options)));
    budget_.waited += clock::now() - began;
    if (came) continue;
    if (came.error() == std::errc::timed_out)
      budget_.fail(shared_.counters, 408, std::errc::timed_out, "the body came too slowly");
    budget_.lose_client(came.error());
  }
}

/// Tells a client that waits for it to send the body.
void http2_exchange::put_continue() {
  if (!std::exchange(continue_due_, false) || has_ended_remote() || !arrived.empty()) return;
  put_header_block_by(out_.gathered, sender.id, false,
                      [](std::string& out) { hpack_encode(out, ":status", "100"); });
}

task<> http2_exchange::finish_body() {
  budget_.bytes_max = ~std::uint64_t{0};
  budget_.pause_max = shared_.options.linger_timeout;
  continue_due_ = false;
  const std::uint64_t most = budget_.read + shared_.options.drain_bytes_max;
  try {
    while (!has_ended_remote() && budget_.read <= most) static_cast<void>(co_await read_body());
  } catch (const std::system_error& e) {
    if (e.code() == std::errc::operation_canceled) throw;
  }
}

std::string_view http2_exchange::trailer(std::string_view name) const noexcept {
  std::string_view found;
  if (trailer_allowed(name))
    each_field_line(trailers, [&](std::string_view key, std::string_view value) {
      if (found.empty() && equal_ignoring_case(key, name)) found = value;
    });
  return found;
}

}  // namespace heddle::http
