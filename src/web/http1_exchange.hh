// SPDX-License-Identifier: MIT
// An exchange on an HTTP/1 connection (RFC 9112): gets the answer to a request and frames it, whole
// or in parts.
#pragma once

#include <cstdint>
#include <string_view>

#include "web/exchange.hh"
#include "web/handed_over.hh"
#include "web/http1_body.hh"
#include "web/http1_input.hh"
#include "web/http1_output.hh"

namespace heddle::http {

/// The fate of the connection after an answer.
enum class after_answer : std::uint8_t {
  next,    ///< the connection reads the next request
  end,     ///< the connection is closed
  linger,  ///< the connection is closed after reading for a while what the client still sends
  reset,   ///< the connection is reset, so that the client does not take the answer for complete
  handed_over,  ///< something else goes on with it: take_handed_over()
};

/// Thread: the connection's color. Owns: the state of one request at a time.
class http1_exchange final : public exchange {
 public:
  http1_exchange(server_shared& shared, stream& conn, http1_input& in, http1_output& out,
                 const request_head& head, overload_control::credit& credit)
      : exchange(shared, head),
        conn_(conn),
        in_(in),
        out_(out),
        credit_(credit),
        body_(shared, conn, in, out, budget_) {}
  ~http1_exchange() = default;

  /// Answers the request whose head was just parsed.
  [[nodiscard]] task<after_answer> answer();
  /// Gathers an error answer to malformed input, or to a head that came too late.
  void refuse(int status, std::string_view why);

  [[nodiscard]] task<std::string_view> read_body() override { return body_.read(); }
  [[nodiscard]] std::string_view trailer(std::string_view name) const noexcept override {
    return body_.trailer(name);
  }
  [[nodiscard]] std::string_view trailer_lines() const noexcept override {
    return body_.trailer_lines();
  }
  [[nodiscard]] task<bool> client_ended() override;
  [[nodiscard]] client_side look_at_client() const noexcept override;
  [[nodiscard]] task<> inform(const response& head) override;
  [[nodiscard]] task<> write_part(std::string_view bytes) override;
  [[nodiscard]] task<> write_out() override;
  [[nodiscard]] task<upgraded> upgrade(std::string_view protocol, response head) override;
  [[nodiscard]] task<response> hand_over(std::string_view protocol, response head,
                                         take_over then) override;
  [[nodiscard]] std::unique_ptr<handed_over> take_handed_over() noexcept {
    return std::move(handed_over_);
  }

 private:
  /// Whether the server lets the connection stay open after this answer. Before the server stops,
  /// it still answers requests that have arrived; the last answer says that the connection closes.
  [[nodiscard]] bool may_stay() const noexcept {
    using enum server_shared::phase;
    if (shared_.now == serving) [[likely]]
      return true;
    return shared_.now == ending_kept && body_.ended() && !in_.rest.empty();
  }
  [[nodiscard]] connection_field field_of(bool keep) const noexcept {
    if (!keep) return connection_field::close;
    return head_.minor_version() == 0 ? connection_field::keep_alive : connection_field::absent;
  }
  [[nodiscard]] task<after_answer> end_stream(bool whole);
  /// The fate of a connection that is used no more. Requests that the client has sent meanwhile
  /// must not reset it (RFC 9112 section 9.6); a client that asked to close sends none.
  [[nodiscard]] after_answer closing() const noexcept;

  [[nodiscard]] address socket_peer() noexcept override { return conn_.peer(); }
  void put_started(const response& r) override;
  void cut_started() noexcept override {
    // If the end of the connection marks the end of the body, only a reset shows that it is cut.
    if (end_ == framing::until_close) conn_.cut();
  }
  [[nodiscard]] time_point answered_at() override;

  stream& conn_;
  http1_input& in_;
  http1_output& out_;
  overload_control::credit& credit_;  // the connection's
  http1_body body_;
  framing end_ = framing::none;
  std::unique_ptr<handed_over> handed_over_;
  bool keep_ = false;
};

}  // namespace heddle::http
