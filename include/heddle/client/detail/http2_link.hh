// SPDX-License-Identifier: MIT
// The client's role on a connection of HTTP/2: many requests at once, each a stream. One task reads
// frames as long as the connection lives; requests write their frames into its output.
//
// States: open -> leaving (no new streams: the server or the pool said so, or numbers have run out)
// -> over (the connection is closed, and every stream has ended).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/client/detail/client_stream.hh"
#include "heddle/client/options.hh"
#include "heddle/core/scope.hh"
#include "heddle/http/detail/http2_connection.hh"
#include "heddle/io/stream.hh"

namespace heddle::http::detail {

/// Thread: the client's color. Owns: the connection. Streams belong to their exchanges.
class http2_link final : private http2_connection {
 public:
  http2_link(stream on, std::shared_ptr<const client_options> options);

  /// Reads until the connection is over, then calls `ended`. `changed` is called when it becomes
  /// used or unused.
  [[nodiscard]] static task<> run(std::shared_ptr<http2_link> self);
  std::function<void()> changed;
  std::function<void()> ended;

  /// Whether new streams may be opened. Take a permit first.
  [[nodiscard]] bool takes_requests() const noexcept {
    return phase_ == link_phase::open && next_id_ < last_id_possible;
  }
  /// One permit for each stream that may be open. When `gone` is cancelled, no more are given.
  semaphore permits;
  cancel_source gone;

  /// Opens a stream, which must have a permit, with this header block.
  void open(client_stream& s, std::string_view block, bool ends);
  /// Ends the exchange's use of a stream. If one half has not ended, the stream is reset.
  void release(client_stream& s) noexcept;
  /// Ends a stream with an error code that is sent to the server.
  void reset(client_stream& s, const http2_fault& because) {
    if (!s.is_reset() && find(s.id()) == &s) reset_stream(s.id(), because);
  }
  /// Sends a part of a body. False: the server takes nothing for client_timeouts::transfer, the
  /// stream has ended, or the connection has.
  [[nodiscard]] task<bool> send(client_stream& s, std::string_view bytes, bool ends);
  /// Whether a send() that gave false did so because the server took nothing in time.
  [[nodiscard]] bool took_nothing(const client_stream& s) const noexcept {
    if (s.trouble) return s.trouble->took_nothing;
    return out_.timed_out() || (!over() && !out_.broken() && s.may_send());
  }
  /// Sends as many bytes as can be gathered without a wait. True if it has sent all.
  [[nodiscard]] bool send_now(client_stream& s, std::string_view& bytes, bool ends);
  /// Ends the request's message with these fields, a header block, behind all of its body.
  void send_trailers(client_stream& s, std::string_view block);
  /// Notes that bytes of a body were read, so the server may send that many more.
  void give_back(client_stream& s, std::size_t bytes) {
    if (phase_ != link_phase::over) http2_connection::give_back(s, bytes);
  }
  /// Waits for the server's first SETTINGS. False: the connection is over.
  [[nodiscard]] task<bool> settled(time_point due);
  /// Whether the server takes an extended CONNECT (RFC 8441).
  [[nodiscard]] bool extended_connect() const noexcept { return extended_connect_; }

  /// Opens no new streams; the connection ends when the open ones have ended. `at_once`: then it is
  /// closed without a wait for the last frames to leave.
  void leave(bool at_once = false) noexcept;
  [[nodiscard]] bool unused() const noexcept { return streams().empty(); }
  /// Whether a request waits for the server's SETTINGS before it begins.
  [[nodiscard]] bool is_awaited() const noexcept;
  [[nodiscard]] bool over() const noexcept { return phase_ == link_phase::over; }
  /// Sends the frames that were gathered, such as new windows, soon.
  void flush_soon() { out_.flush_soon(); }
  [[nodiscard]] const stream& connection() const noexcept { return conn_; }

 private:
  static constexpr std::uint32_t last_id_possible = 0x7ffffffe;

  enum class link_phase : std::uint8_t { open, leaving, over };

  // http2_link.cc
  [[nodiscard]] static task<> talk(scope& tasks, http2_link& self);
  [[nodiscard]] task<> read_all();
  [[nodiscard]] task<> wait_for_bytes();
  [[nodiscard]] task<> say_goodbye();
  [[nodiscard]] time_point next_look(time_point now) const noexcept;
  void close_unused() noexcept;
  void end_streams();
  void take_bytes(std::string_view bytes);
  void nudge() noexcept;
  void send_ping(time_point now);
  void doubt() noexcept;
  void end_stream(client_stream& s, http2_trouble because);
  void allow_streams(std::uint32_t most);
  [[nodiscard]] bool is_leaving() const noexcept { return phase_ != link_phase::open; }
  void stop_opening() noexcept {
    if (phase_ == link_phase::open) phase_ = link_phase::leaving;
  }

  // http2_link_frames.cc: the meaning of frames to a client
  [[nodiscard]] bool is_idle(std::uint32_t id) const noexcept override { return !may_begin(id); }
  [[nodiscard]] bool may_begin(std::uint32_t id) const noexcept override {
    return id % 2 != 0 && id < next_id_;
  }
  [[nodiscard]] bool was_never_taken(std::uint32_t) const noexcept override { return false; }
  [[nodiscard]] std::uint32_t last_taken() const noexcept override { return 0; }
  void on_head(std::uint32_t id, http2_stream* s, std::string_view block, bool ends) override;
  void on_fault(http2_stream* s, const http2_fault& because) override;
  void on_reset(http2_stream* s, std::uint32_t code) override;
  void on_goaway(std::uint32_t last, std::uint32_t code, std::string_view debug) override;
  [[nodiscard]] std::string_view on_setting(http2_setting name, std::uint32_t value) override;
  void on_settings() override;
  void on_ping_answer() override;
  void on_priority(std::uint32_t id, std::string_view text) override;
  void on_failure(std::string_view what, http2_flood flood) override;

  stream conn_;
  std::shared_ptr<const client_options> options_;
  const http2_bounds limits_;
  http2_rest kept_;
  std::uint64_t sent_bytes_ = 0, send_errors_ = 0, write_timeouts_ = 0;
  http2_output out_;
  std::vector<gate::hold> withheld_;  // permits that the server does not allow
  std::uint32_t to_withhold_ = 0;     // permits to withhold once their streams end
  std::uint32_t allowed_;             // streams at once
  std::uint32_t next_id_ = 1;
  std::optional<http2_trouble> trouble_;  // why the connection ended
  std::string goodbye_;                   // the text of the server's GOAWAY
  std::optional<cancel_source> waiting_;  // for bytes
  std::vector<event<>> wait_for_settings_;
  time_point last_heard_{};
  time_point unused_since_{};
  time_point pinged_at_{};
  time_point no_doubt_before_ = time_point::min();
  std::uint32_t pings_out_ = 0;  // PING frames without an answer
  link_phase phase_ = link_phase::open;
  bool pinged_ = false;  // a PING was sent, and nothing has come since
  bool extended_connect_ = false;
  bool at_once_ = false;  // an unused connection is closed without a wait for its last frames
};

/// The wait before a request that was refused `refusals` times is sent again. Its permit is kept
/// meanwhile: a server may count a stream as open for a moment after both ends have ended it, so
/// one stream fewer is open.
[[nodiscard]] constexpr nanoseconds pause_after_refusal(std::uint32_t refusals) noexcept {
  constexpr nanoseconds first = std::chrono::milliseconds(1);
  return refusals == 0 ? nanoseconds::zero() : first * (1 << std::min(refusals - 1, 8u));
}

}  // namespace heddle::http::detail
