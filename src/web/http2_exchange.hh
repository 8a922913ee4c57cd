// SPDX-License-Identifier: MIT
// An exchange on an HTTP/2 connection: one stream (RFC 9113 section 5), its request and its answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/core/deadline.hh"
#include "heddle/http/http2_output.hh"
#include "heddle/http/parser.hh"
#include "web/exchange.hh"
#include "web/http2_connection.hh"

namespace heddle::http {

/// The members that an exchange needs before its base is made.
struct http2_request {
  explicit http2_request(server_shared& shared, std::string&& head_text)
      : text(std::move(head_text)), parser(shared.head_bounds) {}
  std::string text;  // the head, as HTTP/1.1 writes it
  request_parser parser;
};

/// Thread: the connection's color. Owns: its request's head, and what has arrived of the body and
/// was not read yet: at most a stream's window.
class http2_exchange final : private http2_request, public exchange {
 public:
  http2_exchange(http2_connection& state, stream& conn, http2_output& out, std::uint32_t id,
                 std::string&& head_text)
      : http2_request(state.shared, std::move(head_text)),
        exchange(state.shared, parser.head()),
        state_(state),
        conn_(conn),
        out_(out) {
    sender.id = id;
    sender.window = state.peer_stream_window;
  }
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

  /// The request asks for this protocol.
  void offer(std::string&& protocol) noexcept { protocol_ = std::move(protocol); }
  /// The handler has opened a tunnel, which may be closed by now.
  [[nodiscard]] bool had_tunnel() const noexcept { return had_tunnel_; }
  /// Closes the tunnel, if there is one, and waits until nothing uses this object any more.
  [[nodiscard]] task<> end_tunnel();

  // Frames that arrive. Each gives the error of the stream, or no_error.
  [[nodiscard]] http2_error take_data(std::string_view bytes, std::size_t with_padding, bool ends);
  [[nodiscard]] http2_error take_trailers(std::string&& lines);

  [[nodiscard]] bool request_ended() const noexcept { return ended_; }
  [[nodiscard]] std::uint32_t id() const noexcept { return sender.id; }
  /// The peer has ended the stream, or the connection has ended: the handler's waits are cancelled.
  /// A handler that has a tunnel is not cancelled: its stream fails.
  void reset() {
    was_reset_ = true;
    (tunnel_in_use_ ? tunnel_stop_ : stop).cancel();
    more_.wake();
  }
  [[nodiscard]] bool was_reset() const noexcept { return was_reset_; }
  /// The stream is given up: bytes that arrived and were not read count as consumed.
  void abandon() noexcept {
    state_.to_give_back += static_cast<std::uint32_t>(arrived_.size());
    arrived_.clear();
  }

  [[nodiscard]] const address& peer() noexcept override;
  [[nodiscard]] address connection_peer() noexcept override { return conn_.peer(); }
  [[nodiscard]] task<std::string_view> read_body() override;
  [[nodiscard]] std::string_view trailer(std::string_view name) const noexcept override;
  [[nodiscard]] std::string_view trailer_lines() const noexcept override { return trailer_lines_; }
  [[nodiscard]] task<bool> client_ended() override;
  [[nodiscard]] task<> start(response head) override;
  [[nodiscard]] task<> inform(const response& head) override;
  [[nodiscard]] task<> write_part(std::string_view bytes) override;
  [[nodiscard]] task<> write_out() override;
  void add_trailer(std::string_view name, std::string_view value) override;
  [[nodiscard]] task<upgraded> upgrade(std::string_view protocol, response head) override;
  [[nodiscard]] std::string_view extended_protocol() const noexcept override { return protocol_; }
  [[nodiscard]] task<response> hand_over(std::string_view protocol, response head,
                                         take_over then) override;

  http2_sender sender;
  cancel_source stop;

 private:
  void put_head(const response& r, bool length, bool ends);
  [[nodiscard]] task<bool> send_body(const response& r);
  [[nodiscard]] task<bool> end_started(bool whole);
  friend class http2_server_tunnel;
  [[nodiscard]] task<bool> run_tunnel(bool whole);
  /// Whether this answer would open a tunnel that the handler does not know of.
  [[nodiscard]] bool opens_by_mistake(int status) const noexcept {
    return !protocol_.empty() && !had_tunnel_ && status / 100 == 2;
  }
  void give_back(std::size_t bytes);
  void count(int status, std::uint64_t bytes);

  http2_connection& state_;
  stream& conn_;
  http2_output& out_;
  time_point since_{};
  // The request's body.
  std::string arrived_;
  std::string part_;  // the part that was given to the handler
  std::int64_t receive_window_ = http2_connection::stream_window;
  std::uint32_t to_give_back_ = 0;
  std::uint64_t body_bytes_ = 0;
  unsigned empty_frames_ = 0;
  bool ended_ = false;
  bool continue_due_ = false;
  bool was_reset_ = false;
  wake_once more_;
  std::string trailer_lines_;
  // A tunnel.
  std::string protocol_;
  stream tunnel_;
  take_over then_;
  cancel_source tunnel_stop_;
  wake_once tunnel_closed_;
  bool tunnel_in_use_ = false;
  bool had_tunnel_ = false;
  bool tunnel_failed_ = false;
  // An answer that was started.
  field_list trailers_;
  std::uint64_t left_ = 0;
  std::uint64_t written_ = 0;
  bool length_said_ = false;
  bool muted_ = false;
  bool cut_ = false;  // a write was cut short
  bool shed_ = false;
  address peer_;
};

}  // namespace heddle::http
