// SPDX-License-Identifier: MIT
// Reads the body of a request on an HTTP/1 connection, by length or in chunks and within its
// limits, and drops the part that the handler did not read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/core/task.hh"
#include "heddle/http/detail/body_decoder.hh"
#include "heddle/http/request.hh"
#include "web/body_budget.hh"
#include "web/http1_input.hh"
#include "web/http1_output.hh"

namespace heddle::http {

/// Thread: the connection's color. Owns: the state of one body; the bytes belong to the input.
class http1_body {
 public:
  http1_body(server_shared& shared, stream& conn, http1_input& in, http1_output& out,
             body_budget& budget)
      : shared_(shared),
        conn_(conn),
        in_(in),
        out_(out),
        budget_(budget),
        decoder_(shared.head_bounds) {}

  /// Prepares for the request with this head.
  void begin(const request_head& head) {
    decoder_.begin(head.body(), head.content_length());
    continue_due_ = head.expects_continue();
    budget_.begin(shared_.options, !decoder_.ended());
  }
  /// The next part, valid until the next call; empty at the end. Fails as request::read() does.
  [[nodiscard]] task<std::string_view> read();
  /// Reads and drops the unread rest of the body, because the next request follows it. False if the
  /// rest is too large or broken.
  [[nodiscard]] task<bool> finish();

  [[nodiscard]] bool ended() const noexcept { return decoder_.ended(); }
  /// How many bytes of the body were not read yet; unset if the client did not say its length.
  [[nodiscard]] std::optional<std::uint64_t> missing() const noexcept {
    if (decoder_.how() == framing::chunked && !decoder_.ended()) return std::nullopt;
    return decoder_.ended() ? 0 : decoder_.left();
  }
  /// Whether keeping the connection is worth reading the unread rest of the body.
  [[nodiscard]] bool worth_reading() const noexcept;
  /// Whether the client waits for 100 Continue and so has sent no body.
  [[nodiscard]] bool none_sent() const noexcept { return continue_due_ && in_.rest.empty(); }
  /// Whether to send 100 Continue; true only once.
  [[nodiscard]] bool take_continue() noexcept { return std::exchange(continue_due_, false); }
  /// A trailer field of a chunked body that has ended; "" if there is none.
  [[nodiscard]] std::string_view trailer(std::string_view name) const noexcept;
  [[nodiscard]] std::string_view trailer_lines() const noexcept { return decoder_.trailers(); }

 private:
  [[nodiscard]] std::string_view take_part();

  server_shared& shared_;
  stream& conn_;
  http1_input& in_;
  http1_output& out_;
  body_budget& budget_;
  body_decoder decoder_;
  bool continue_due_ = false;
};

}  // namespace heddle::http
