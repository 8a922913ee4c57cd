// SPDX-License-Identifier: MIT
// The server's role on a connection of HTTP/2, while something happens on it: requests become
// exchanges, each answered by a task of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/deadline.hh"
#include "heddle/core/scope.hh"
#include "heddle/http/detail/http2_connection.hh"
#include "web/http2_exchange.hh"
#include "web/http2_head.hh"
#include "web/http2_server_connection.hh"

namespace heddle::http {

/// Thread: the connection's color. Owns: frames that leave. A stream belongs to the task that
/// answers it.
class http2_session final : public http2_connection {
 public:
  http2_session(http2_server_connection& state, stream& conn, overload_control::credit& credit)
      : http2_connection(state, out_, http2_server_connection::bounds, state.shared.head_bounds),
        state_(state),
        conn_(conn),
        credit_(credit),
        out_(state, conn,
             {state.shared.options.write_timeout, http2_server_connection::output_bytes_max,
              state.shared.counters.bytes, state.shared.counters.errors,
              state.shared.counters.write_timeouts}) {
    out_.gathered = state.shared.spares.take();
  }
  ~http2_session() { state_.shared.spares.give_back(std::move(out_.gathered)); }

  /// Reads until nothing is open. True if the connection may stay.
  [[nodiscard]] static task<bool> run(scope& tasks, http2_session& self, std::string early);

  // For the exchanges.
  [[nodiscard]] server_shared& shared() noexcept { return state_.shared; }
  [[nodiscard]] stream& connection() noexcept { return conn_; }
  [[nodiscard]] http2_output& output() noexcept { return out_; }
  [[nodiscard]] std::uint32_t peer_stream_window() const noexcept {
    return state_.peer_stream_window;
  }
  using http2_connection::allow_late_for;
  using http2_connection::give_back;
  using http2_connection::give_back_unread;

 private:
  [[nodiscard]] task<bool> read_all(std::string early);
  void take_bytes(std::string_view bytes);
  void greet();
  [[nodiscard]] bool idle() const noexcept;
  void end_wait_if_idle();
  void end_if_drained();
  void open_stream(std::uint32_t id, http2_block what, std::string&& text, std::string&& protocol,
                   bool ends);
  void take_early_priority(http2_sender& of);
  /// Answers one stream, in a task of its own. `refused`: the status of a head that no handler
  /// sees, or 0.
  [[nodiscard]] static task<> serve(http2_session& self, std::unique_ptr<http2_exchange> x,
                                    int refused);

  [[nodiscard]] bool is_idle(std::uint32_t id) const noexcept override {
    return id % 2 == 0 || (id > state_.last_stream && !state_.leaving());
  }
  [[nodiscard]] bool may_begin(std::uint32_t id) const noexcept override { return id % 2 != 0; }
  [[nodiscard]] bool was_never_taken(std::uint32_t id) const noexcept override {
    return id > state_.last_stream;
  }
  [[nodiscard]] std::uint32_t last_taken() const noexcept override { return state_.last_stream; }
  void on_head(std::uint32_t id, http2_stream* s, std::string_view block, bool ends) override;
  void on_fault(http2_stream* s, const http2_fault& because) override;
  void on_reset(http2_stream* s, std::uint32_t code) override;
  void on_goaway(std::uint32_t last, std::uint32_t code, std::string_view debug) override;
  [[nodiscard]] std::string_view on_setting(http2_setting name, std::uint32_t value) override;
  void on_settings() override {}
  void on_ping_answer() override;
  void on_priority(std::uint32_t id, std::string_view text) override;
  void on_failure(std::string_view what, http2_flood flood) override;

  http2_server_connection& state_;
  stream& conn_;
  overload_control::credit& credit_;
  http2_output out_;
  scope* tasks_ = nullptr;
  struct early_priority {
    std::uint32_t id;
    http2_priority wanted;
  };
  static constexpr std::size_t early_priorities_max = 16;  // the oldest goes
  std::vector<early_priority> early_priorities_;  // priorities of streams that are not open yet
  bool peer_leaves_ = false;                      // the client has sent GOAWAY
  cancel_source never_;
  std::optional<cancel_source> quiet_;  // ends the wait for bytes when nothing is open any more
};

}  // namespace heddle::http
