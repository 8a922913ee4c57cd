// SPDX-License-Identifier: MIT
// An engine and the stream below it: pull(), push() and close() of the layer. The connection is
// reference-counted, because its last bytes may still be unsent when its layer is destroyed.
//
// Order of sealed bytes: the engine's buffer is moved to `sending_` only when that is empty, and
// one flush runs at a time, so records leave in the order in which they were sealed.
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
  /// `turns` has one unit for each handshake of the listener that may run at once.
  connection(stream over, std::shared_ptr<server_state> site,
             std::shared_ptr<handshake_turns> turns);
  connection(stream over, std::shared_ptr<client_state> tls, std::string host);

  /// Waits until the handshake has ended. The first caller runs it.
  [[nodiscard]] task<> handshake();
  [[nodiscard]] task<received> pull();
  /// The stream below, if pull() would only wait for it.
  [[nodiscard]] stream* waits_for() noexcept;
  [[nodiscard]] task<> push(chain out);
  [[nodiscard]] sent_now try_push(byte_view head, const piece& body) noexcept;
  /// Sends at least one sealed byte. Returns whether all have left.
  [[nodiscard]] task<bool> flush_some();
  /// Bytes of the last push() that are sealed and will leave, even if it failed.
  [[nodiscard]] std::size_t kept() const noexcept { return kept_; }
  /// Sends the end of the stream; then the stream below is closed, or only its writing half.
  void end(bool close) noexcept;
  void reset_on_close() noexcept;
  void cut() noexcept;

  [[nodiscard]] stream& below() noexcept { return inner_; }
  [[nodiscard]] session agreed() const;
  /// The protocol of ALPN that was agreed on. The text lives as long as the connection.
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
  [[nodiscard]] bool flushed_at_once() noexcept;
  [[nodiscard]] task<> flush();
  /// Tells the peer why the connection fails, then throws the reason.
  [[nodiscard]] task<> fail();
  /// Answers a client that speaks plain HTTP, so that a person sees why.
  [[nodiscard]] task<> answer_plain_http();
  [[nodiscard]] task<> feed_more();
  [[nodiscard]] static task<> end_later(std::shared_ptr<connection> self, bool close);
  void end_below(bool close) noexcept;

  /// State of a handshake. A client keeps it: the host is also the name of its sessions.
  struct opening {
    std::shared_ptr<handshake_turns> turns;
    std::shared_ptr<const site_table> sites;  // certificates of this handshake
    std::string host;
    trouble before_engine;   // the failure, if it came before there was an engine
    bool asks_head = false;  // a client of plain HTTP has sent HEAD
    mutex shaking;
  };
  void drop_opening() noexcept;
  [[nodiscard]] task<> handshake_in_turn();

  stream inner_;
  std::shared_ptr<server_state> site_;  // null for a client
  std::shared_ptr<client_state> tls_;   // null for a server
  std::unique_ptr<opening> opening_;    // null once a server's handshake has ended
  std::unique_ptr<engine> engine_;
  out_buffer sending_;
  std::size_t kept_ = 0;
  mutex flushing_;
  std::uint8_t misses_ = 0;  // sends in a row that took nothing at once
  std::uint8_t skipped_ = 0;
  bool reset_ = false;
  bool challenge_ = false;  // the client is an authority that has seen our answer
};

}  // namespace heddle::tls::detail
