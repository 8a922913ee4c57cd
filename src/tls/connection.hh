// SPDX-License-Identifier: MIT
// An engine and the stream below it: pull(), push() and close() of the layer. It is counted,
// because the end of a connection may still be on its way out when its layer has gone.
//
// Order of sealed bytes: the engine's buffer is appended to `sending_`'s place only when that is
// empty, and one flush runs at a time, so records leave in the order in which they were sealed.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "heddle/core/task.hh"
#include "heddle/io/layer.hh"
#include "heddle/sync/mutex.hh"
#include "tls/client_state.hh"
#include "tls/engine.hh"
#include "tls/handshake_turns.hh"
#include "tls/server_state.hh"

namespace heddle::tls::detail {

/// Thread: the stream's color.
class connection : public std::enable_shared_from_this<connection> {
 public:
  /// `turns`: one unit for each handshake of a listener's that may run.
  connection(stream over, std::shared_ptr<server_state> site,
             std::shared_ptr<handshake_turns> turns);
  connection(stream over, std::shared_ptr<client_state> tls, std::string host);

  /// Waits until the handshake has ended. The first caller runs it.
  [[nodiscard]] task<> handshake();
  [[nodiscard]] task<received> pull();
  /// The stream below, if pull() would only wait for it.
  [[nodiscard]] stream* waits_for() noexcept;
  [[nodiscard]] task<> push(chain out);
  [[nodiscard]] std::size_t try_push(byte_view head, const piece& body) noexcept;
  /// Bytes of the last push() that are sealed and will leave, even if it failed.
  [[nodiscard]] std::size_t kept() const noexcept { return kept_; }
  /// Sends the end of the stream; then the stream below is closed, or only its writing half.
  void end(bool close) noexcept;
  void reset_on_close() noexcept;
  void cut() noexcept;

  [[nodiscard]] stream& below() noexcept { return inner_; }
  [[nodiscard]] session agreed() const;
  /// The protocol above that was agreed on; good while the connection is.
  [[nodiscard]] std::string_view alpn() const noexcept {
    return established() ? engine_->alpn() : std::string_view();
  }

 private:
  [[nodiscard]] bool established() const noexcept { return engine_ && engine_->established(); }
  [[nodiscard]] const limits& bounds() const noexcept;
  void begin();
  [[nodiscard]] task<> shake();
  [[nodiscard]] task<engine::step> shake_elsewhere(color where);
  void report(time_point since);
  [[noreturn]] void throw_why() const;
  void take_debt(chain& out);
  [[nodiscard]] bool flushed_at_once() noexcept;
  [[nodiscard]] task<> flush();
  /// Tells the peer what is wrong; then throws it.
  [[nodiscard]] task<> fail();
  /// Answers a client that speaks plain HTTP, so that a person sees why.
  [[nodiscard]] task<> answer_plain_http();
  [[nodiscard]] task<> feed_more();
  [[nodiscard]] static task<> end_later(std::shared_ptr<connection> self, bool close);
  void end_below(bool close) noexcept;

  /// State of a handshake. A client keeps it: the host is also the name of its sessions.
  struct opening {
    std::shared_ptr<handshake_turns> turns;
    std::shared_ptr<const site_table> sites;  // of this handshake
    std::string host;
    trouble before_engine;  // why there is none
    mutex shaking;
  };
  void drop_opening() noexcept;
  [[nodiscard]] task<> handshake_in_turn();

  stream inner_;
  std::shared_ptr<server_state> site_;  // of a server; else null
  std::shared_ptr<client_state> tls_;   // of a client; else null
  std::unique_ptr<opening> opening_;    // null once a server's handshake has ended
  std::unique_ptr<engine> engine_;
  out_buffer sending_;
  std::size_t kept_ = 0;
  mutex flushing_;
  std::uint8_t misses_ = 0;  // sends in a row that took nothing at once
  std::uint8_t skipped_ = 0;
  // The last byte that try_push() sealed and did not own up to, so that its caller comes back and
  // waits until everything has left.
  bool in_debt_ = false;
  std::byte debt_{};
  bool reset_ = false;
  bool asks_head_ = false;  // a client of plain HTTP has sent HEAD
  bool challenge_ = false;  // the client is an authority that has seen our answer
};

}  // namespace heddle::tls::detail
