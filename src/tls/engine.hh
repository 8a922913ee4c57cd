// SPDX-License-Identifier: MIT
// One end of a TLS connection without its stream: blocks that arrived go in, sealed bytes come out,
// and nothing here waits. ssl_engine does it with OpenSSL's SSL object. After a handshake of
// TLS 1.3 a server may replace it by a record_engine, which holds the keys and little else.
//
//   state          the engine                                  leaves it by
//   shaking        exchanges messages of the handshake         shake(), fail()
//   fresh          has the keys; no record was opened          open(), say_end(), fail()
//   used           opens and seals records                     say_end(), fail()
//   ended          has sent its end; it still opens records    fail()
//   shake_failed   broke before it had the keys                -
//   broken         broke later; it opens and seals nothing     -
//
// Builds with sanitizers, and those without NDEBUG, check each move.
#pragma once

#include <memory>
#include <span>

#include "heddle/base/detail/legal_move.hh"
#include "heddle/io/received.hh"
#include "heddle/tls/options.hh"
#include "tls/out_buffer.hh"
#include "tls/trouble.hh"

namespace heddle::tls::detail {

enum class engine_state : std::uint8_t { shaking, fresh, used, ended, shake_failed, broken };

[[nodiscard]] constexpr bool is_legal(engine_state from, engine_state to) noexcept {
  using enum engine_state;
  switch (to) {
    case shaking:
      return false;
    case fresh:
    case shake_failed:
      return from == shaking;
    case used:
      return from == fresh;
    case ended:
      return from == fresh || from == used;
    case broken:
      return from == fresh || from == used || from == ended;
  }
  return false;
}

/// Thread: one at a time.
class engine {
 public:
  enum class step : std::uint8_t { done, wants_input, failed };

  engine(const engine&) = delete;
  virtual ~engine() = default;

  /// Continues the handshake.
  [[nodiscard]] virtual step shake() = 0;
  /// The next plaintext; done without bytes is the end that the peer announced.
  [[nodiscard]] virtual step open(received& into) = 0;
  /// Seals at most `most` bytes of these texts, one after another; gives how many it sealed.
  [[nodiscard]] virtual std::size_t seal(std::span<const byte_view> texts, std::size_t most) = 0;
  /// Seals the announcement that no more will be sent: close_notify.
  virtual void say_end() noexcept = 0;
  [[nodiscard]] virtual session agreed() const = 0;
  [[nodiscard]] virtual std::string_view alpn() const noexcept = 0;
  /// After the handshake: the engine that replaces this one and has taken over its input and
  /// output; null if this one stays. Throws std::bad_alloc; this one is then unchanged.
  [[nodiscard]] virtual std::unique_ptr<engine> successor() { return nullptr; }

  /// Gives the engine a block, only after a step wanted input: the block before is then used up.
  void feed(received in) noexcept {
    in_ = std::move(in);
    eaten_ = 0;
  }
  /// Whether all input is used up, so that open() gives nothing before more bytes, or the end.
  [[nodiscard]] virtual bool is_out_of_input() const noexcept {
    return established() && !broken() && !input_ended_ && eaten_ == in_.size();
  }
  void feed_end() noexcept { input_ended_ = true; }
  /// Sealed bytes to send.
  [[nodiscard]] out_buffer& out() noexcept { return out_; }

  /// Whether the handshake was completed.
  [[nodiscard]] bool established() const noexcept {
    return state_ != engine_state::shaking && state_ != engine_state::shake_failed;
  }
  [[nodiscard]] bool broken() const noexcept {
    return state_ == engine_state::broken || state_ == engine_state::shake_failed;
  }
  /// Breaks the engine: it seals and opens nothing from then on.
  void fail(trouble why) noexcept {
    if (!broken()) move_to(established() ? engine_state::broken : engine_state::shake_failed);
    trouble_ = std::move(why);
  }
  [[nodiscard]] const trouble& why() const noexcept { return trouble_; }

 protected:
  explicit engine(const limits& bounds, engine_state first = engine_state::shaking) noexcept
      : bounds_(bounds), state_(first) {}

  [[nodiscard]] engine_state state() const noexcept { return state_; }
  void move_to(engine_state next) noexcept {
    check_move(state_, next);
    state_ = next;
  }
  /// Moves to `ended`. False if the end was sent before, or the engine is not able to send it.
  [[nodiscard]] bool begin_end() noexcept {
    if (!is_legal(state_, engine_state::ended)) return false;
    move_to(engine_state::ended);
    return true;
  }

  /// Frees the block, because a connection that waits must not hold one.
  void let_go() noexcept {
    in_.release();
    eaten_ = 0;
  }
  /// Counts a message of a handshake that arrived after the handshake: each makes us work, and
  /// costs the peer nothing. True if there were more than the limit in a minute.
  [[nodiscard]] bool too_many_late_messages() noexcept;

  const limits& bounds_;
  received in_;
  std::size_t eaten_ = 0;  // bytes of in_ that are used up
  out_buffer out_;
  trouble trouble_;
  bool input_ended_ = false;

 private:
  engine_state state_;
  std::uint32_t late_ = 0;  // messages since late_since_
  time_point late_since_{};
};

}  // namespace heddle::tls::detail
