// SPDX-License-Identifier: MIT
// The answers that an HTTP/1 connection sends during one burst of requests. Heads and small bodies
// are gathered. The gathered bytes are sent in front of a larger body, before a wait, and at the
// end of the burst. There are four ways to send: without a wait, with a wait, from a file in the
// page cache, and from a file that is read first (http1_send_file.cc).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/core/task.hh"
#include "heddle/http/field_list.hh"
#include "heddle/http/framing.hh"
#include "heddle/http/head_writer.hh"
#include "heddle/http/response.hh"
#include "heddle/io/chain.hh"
#include "heddle/io/stream.hh"
#include "heddle/sync/mutex.hh"
#include "web/server_shared.hh"

namespace heddle::http {

/// The value of an answer's Connection field.
enum class connection_field : std::uint8_t { absent, keep_alive, close, upgrade };

/// The end of a flush that is cancelled: it cuts the connection, or keeps its unsent bytes for the
/// next sender.
enum class on_cancel : std::uint8_t { cuts, keeps };

/// Thread: the connection's color. Owns: the gathered bytes.
/// Fails: functions that return bool return false, after counting the failure, if the connection is
///   broken or accepts nothing for the server's write_timeout.
class http1_output {
 public:
  http1_output(server_shared& shared, stream& conn)
      : gathered(shared.spares.take()), shared_(shared), conn_(conn) {}
  http1_output(const http1_output&) = delete;
  ~http1_output() {
    time_untimed();
    shared_.spares.give_back(std::move(gathered));
  }

  /// Gathers the head of an answer; `added` are fields to add to it.
  void write_head(const response& r, const field_list& added, framing how, connection_field what);

  /// Sends the gathered bytes if that needs no wait. The unsent rest stays gathered; true if there
  /// is none.
  [[nodiscard]] bool sent_at_once() {
    if (broken_) return false;
    take_back();
    const sent_now sent = conn_.try_write(byte_view(gathered));
    drop_sent(sent.bytes);
    return gathered.empty() && !sent.flush_due;
  }
  /// Sends the gathered bytes. A task that reads the body and one that writes the answer may both
  /// call this and send_views(); they take turns. False, and not broken(): the flush was cancelled
  /// and has kept its bytes.
  [[nodiscard]] task<bool> flush(on_cancel then = on_cancel::cuts);
  /// Sends the gathered bytes and a body as far as that needs no wait; returns the bytes sent of
  /// the body. If the whole body was taken and unsent() is true, send_body() of an empty body
  /// sends the rest.
  [[nodiscard]] std::size_t body_sent_at_once(const piece& body);
  /// Whether bytes wait here, or in a layer that has taken them.
  [[nodiscard]] bool unsent() const noexcept {
    return !gathered.empty() || kept_ != nullptr || conn_.flush_due();
  }
  /// Sends the gathered bytes and a body. A large body is sent in steps, each with its own
  /// write_timeout.
  [[nodiscard]] task<bool> send_body(piece body);
  /// Sends the gathered bytes and a part of a file.
  [[nodiscard]] task<bool> send_file(int file, std::uint64_t at, std::uint64_t size);
  /// Sends three texts, one behind the other. The gathered bytes stay.
  [[nodiscard]] task<bool> send_views(std::string_view a, std::string_view b, std::string_view c);
  /// Counts the bytes of a write_some() that had this counter. False if it failed for good: the
  /// stream is cut then. Over a layer that keeps bytes (TLS), write_timeout may pass although some
  /// were taken; that is no failure yet.
  bool note_sent(const result<std::size_t>& sent, std::size_t bytes);
  /// Whether a send failed or was cut short: a part of it may have left, so nothing may follow.
  [[nodiscard]] bool broken() const noexcept { return broken_; }

  /// Call it for a gathered answer that was begun in the turn `since`. True if its latency is
  /// recorded later. False if the caller must record it now, because too many answers wait for
  /// that, or because they began in another turn.
  [[nodiscard]] bool timed_later(time_point since) noexcept {
    if (untimed_ >= untimed_max || (untimed_ != 0 && since != untimed_since_)) return false;
    ++untimed_;
    untimed_since_ = since;
    return true;
  }
  /// Records the latency of the answers for which timed_later() gave true.
  void time_untimed() {
    if (untimed_ != 0) [[unlikely]]
      time_answers();
  }
  /// Records the latency of the gathered answers with one reading of the clock.
  void time_answers();

  std::string gathered;

 private:
  // Limits how long a slow handler's time stays unseen by the overload control.
  static constexpr std::uint8_t untimed_max = 15;

  void put_head(head_writer& writer, const response& r, const field_list& added, framing how,
                connection_field what);
  std::size_t drop_sent(std::size_t bytes);
  /// Puts kept bytes before the gathered ones. Only one task sends.
  void take_back() {
    if (kept_) [[unlikely]]
      gathered.insert(0, *std::exchange(kept_, {}));
  }
  [[nodiscard]] task<bool> has_room();
  [[nodiscard]] task<std::int64_t> send_cached(int file, std::uint64_t at, std::size_t size);
  [[nodiscard]] task<std::int64_t> send_read(int file, std::uint64_t at, std::size_t size);

  /// The turn of one writer until all of its bytes have left, also in several writes. Empty if it
  /// has to wait for that.
  [[nodiscard]] mutex::hold turn_at_once();
  [[nodiscard]] task<mutex::hold> wait_for_turn(on_cancel then);

  server_shared& shared_;
  stream& conn_;
  std::unique_ptr<std::string> kept_;  // bytes of a cancelled flush, which leave first
  std::optional<mutex> sending_;       // made for the first answer that has to wait
  time_point untimed_since_{};
  std::uint8_t untimed_ = 0;  // gathered answers whose latency is not recorded
  bool broken_ = false;
};

}  // namespace heddle::http
