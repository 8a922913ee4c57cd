// SPDX-License-Identifier: MIT
// An HTTP/2 connection while something happens on it: frames that arrive, the streams that are
// open, and what leaves. Each stream is answered by a task of its own.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/scope.hh"
#include "heddle/http/http2_output.hh"
#include "web/http2_connection.hh"
#include "web/http2_exchange.hh"
#include "web/http2_head.hh"

namespace heddle::http {

/// Thread: the connection's color. Owns: its streams.
class http2_session {
 public:
  http2_session(http2_connection& state, stream& conn, overload_control::credit& credit)
      : state_(state),
        conn_(conn),
        credit_(credit),
        out_(state, conn,
             {state.shared.options.write_timeout, http2_connection::output_bytes_max,
              state.shared.counters.bytes, state.shared.counters.errors,
              state.shared.counters.write_timeouts}) {
    out_.gathered = state.shared.spares.take();
  }
  http2_session(const http2_session&) = delete;
  ~http2_session() { state_.shared.spares.give_back(std::move(out_.gathered)); }

  /// Reads until nothing is open. True: the connection may stay.
  [[nodiscard]] static task<bool> run(scope& tasks, http2_session& self, std::string early);

 private:
  // http2_session.cc
  [[nodiscard]] task<bool> read_all(std::string early);
  void take(std::string_view bytes);
  [[nodiscard]] bool take_preface(std::string_view& bytes);
  void greet();
  [[nodiscard]] bool idle() const noexcept;
  void end_wait_if_idle();
  void end_if_drained();
  void fail(http2_error why, std::string_view what);
  [[nodiscard]] http2_exchange* find(std::uint32_t id) noexcept;
  void reset_stream(std::uint32_t id, http2_error why);
  [[nodiscard]] bool was_reset_lately(std::uint32_t id) const noexcept {
    return std::ranges::find(reset_lately_, id) != reset_lately_.end();
  }
  void forget(http2_exchange& x);
  [[nodiscard]] static task<> serve(http2_session& self, http2_exchange& x, int refused);
  void count_glitch();

  // http2_frames.cc: frames, each in its own function
  void take_frame(const http2_frame_head& head, std::string_view payload);
  void take_data(const http2_frame_head& head, std::string_view payload);
  void take_headers(const http2_frame_head& head, std::string_view payload);
  void take_continuation(const http2_frame_head& head, std::string_view payload);
  void take_header_block(std::uint32_t id, std::string_view block, bool ends);
  void open_stream(std::uint32_t id, http2_block what, std::string&& text, std::string&& protocol,
                   bool ends);
  void take_trailers(http2_exchange& x, std::string_view block, bool ends);
  void drop_trailers(std::uint32_t id, std::string_view block);
  void take_reset(const http2_frame_head& head, std::string_view payload);
  void take_settings(const http2_frame_head& head, std::string_view payload);
  void take_ping(const http2_frame_head& head, std::string_view payload);
  void take_window(const http2_frame_head& head, std::string_view payload);
  void take_priority_update(std::string_view payload);
  void take_early_priority(http2_sender& of);

  http2_connection& state_;
  stream& conn_;
  overload_control::credit& credit_;
  http2_output out_;
  scope* tasks_ = nullptr;
  std::vector<std::unique_ptr<http2_exchange>> streams_;  // by number
  std::array<std::uint32_t, 16> reset_lately_{};          // by us: the peer may not know yet
  unsigned reset_count_ = 0;
  struct early_priority {
    std::uint32_t id;
    http2_priority wanted;
  };
  static constexpr std::size_t early_priorities_max = 16;  // the oldest goes
  std::vector<early_priority> early_priorities_;           // of streams that are not open yet
  std::string carry_;                                      // a frame that has not arrived whole
  std::string block_;                                      // a header block that has not
  std::uint32_t block_stream_ = 0;
  unsigned continuations_ = 0;
  unsigned acknowledgements_ = 0;  // gathered since the last flush
  bool block_ends_ = false;
  bool failed_ = false;
  bool peer_leaves_ = false;  // it has sent GOAWAY
  cancel_source never_;
  std::optional<cancel_source> quiet_;  // ends the wait for bytes when nothing is open any more
};

/// "u=3, i" of a Priority field (RFC 9218 section 4).
[[nodiscard]] http2_priority read_priority(std::string_view text) noexcept;

}  // namespace heddle::http
