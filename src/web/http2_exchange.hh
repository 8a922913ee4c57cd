// SPDX-License-Identifier: MIT
// An exchange on an HTTP/2 connection: one stream (RFC 9113 section 5), its request and its answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/core/deadline.hh"
#include "heddle/http/detail/http2_stream.hh"
#include "heddle/http/parser.hh"
#include "web/exchange.hh"
#include "web/server_shared.hh"

namespace heddle::http {

class http2_session;

/// The members that an exchange needs before its base is made.
struct http2_request {
  explicit http2_request(server_shared& shared, std::string&& head_text)
      : text(std::move(head_text)), parser(shared.head_bounds) {}
  std::string text;  // the head, as HTTP/1.1 writes it
  request_parser parser;
};

/// A tunnel that an extended CONNECT has opened (RFC 8441).
enum class http2_tunnel_phase : std::uint8_t { none, open, closed, failed };

/// Thread: the connection's color. Owns: its request's head.
class http2_exchange final : private http2_request, public exchange, public http2_stream {
 public:
  http2_exchange(http2_session& on, std::uint32_t id, std::string&& head_text);
  ~http2_exchange() = default;

  /// Parses the head; `ends`: no body follows. Returns its problem, or none.
  [[nodiscard]] problem begin(bool ends);
  /// Answers the request; `credit` is the connection's. False: the stream ends in an error.
  [[nodiscard]] task<bool> answer(overload_control::credit& credit);
  /// Reads on behind an answer, for the client may not stop sending: up to drain_bytes_max, and for
  /// the server's linger_timeout.
  [[nodiscard]] task<> finish_body();
  /// Answers a request that no handler may see.
  [[nodiscard]] task<bool> refuse(int status, std::string_view why);

  // http2_server_tunnel.cc: extended CONNECT (RFC 8441).

  /// Notes that the request asks for this protocol.
  void offer(std::string&& protocol) noexcept { protocol_ = std::move(protocol); }
  /// Whether the handler has opened a tunnel, which may be closed by now.
  [[nodiscard]] bool had_tunnel() const noexcept {
    return tunnel_phase_ != http2_tunnel_phase::none;
  }
  /// Closes the tunnel, if there is one, and waits until nothing uses this object any more.
  [[nodiscard]] task<> end_tunnel();

  /// Cancels the handler's waits, because the stream was reset or the connection has ended. A
  /// handler that has a tunnel is not cancelled: its stream fails.
  void stop_handler() noexcept {
    (tunnel_phase_ == http2_tunnel_phase::open ? tunnel_stop_ : stop).cancel();
  }

  [[nodiscard]] task<std::string_view> read_body() override;
  [[nodiscard]] std::string_view trailer(std::string_view name) const noexcept override;
  [[nodiscard]] std::string_view trailer_lines() const noexcept override { return trailers; }
  [[nodiscard]] task<bool> client_ended() override;
  [[nodiscard]] task<> inform(const response& head) override;
  [[nodiscard]] task<> write_part(std::string_view bytes) override;
  [[nodiscard]] task<> write_out() override;
  [[nodiscard]] task<upgraded> upgrade(std::string_view protocol, response head) override;
  [[nodiscard]] std::string_view extended_protocol() const noexcept override { return protocol_; }
  [[nodiscard]] task<response> hand_over(std::string_view protocol, response head,
                                         take_over then) override;

  cancel_source stop;

 private:
  void put_head(const response& r, bool length, bool ends);
  void put_continue();
  [[nodiscard]] task<bool> send_body(const response& r);
  [[nodiscard]] task<bool> end_started(bool whole);
  friend class http2_server_tunnel;
  [[nodiscard]] task<bool> run_tunnel(bool whole);
  /// Notes that END_STREAM was gathered.
  void note_end() noexcept {
    if (may_send()) end_local();
  }
  /// Sends a part of the body, and the end of the stream if `ends`. False: the client takes no
  /// more.
  [[nodiscard]] task<bool> send_part(std::string_view bytes, bool ends);

  [[nodiscard]] address socket_peer() noexcept override;
  void put_started(const response& r) override;
  [[nodiscard]] time_point answered_at() override;

  http2_session& on_;
  http2_output& out_;
  bool continue_due_ = false;
  // A tunnel.
  http2_tunnel_phase tunnel_phase_ = http2_tunnel_phase::none;
  std::string protocol_;
  stream tunnel_;
  take_over then_;
  cancel_source tunnel_stop_;
  wake_once tunnel_closed_;
  bool cut_ = false;  // a write of a started answer was cut short
};

}  // namespace heddle::http
