// SPDX-License-Identifier: MIT
// Streams over anything: a program says how bytes come and how they leave, and gets a stream that
// every function that takes one accepts. TLS over a connection is such a layer; so is a stream that
// counts, delays or records what passes.
//
//   class upper : public stream_layer {
//     task<received> pull() override {            // the next bytes for a reader
//       received in = co_await inner_.receive();
//       for (std::byte& b : in.writable()) b = to_upper(b);
//       co_return in;
//     }
//     task<> push(chain out) override { co_await inner_.write(std::move(out)); }
//     void close() noexcept override { inner_.close(); }
//     stream inner_;
//   };
//   stream loud = make_stream(std::make_unique<upper>(std::move(conn)));
#pragma once

#include <memory>

#include <string_view>

#include "heddle/core/task.hh"
#include "heddle/io/chain.hh"
#include "heddle/io/stream.hh"

namespace heddle {

/// The interface of a layer. The stream calls it; no function of it is called by users.
///
/// Thread: the stream's color. One pull() and one push() or flush() at a time, perhaps both at
/// once; each in a task of the stream's own, that no reader's deadline reaches. Owns: the
/// connection below it. The layer dies after close(), when neither call runs. Cancel: close() of
/// the stream cancels both; cancelling a write cancels its push(). A push() that ended early may
/// have sent a part. If the write had no counter, the stream calls cut(), and no push() follows; if
/// it had one, the layer must keep the rest and send it first next time. The same is true of
/// flush(). Fails: a std::system_error thrown by pull() or push() is rethrown to the reader or
/// writer, and to every later reader.
class stream_layer {
 public:
  virtual ~stream_layer() = default;

  /// The next bytes, at least one; nothing at the end of the stream. Called while a reader waits
  /// and nothing is there.
  [[nodiscard]] virtual task<received> pull() = 0;
  /// The stream below that the next pull() would only wait for; null if the layer has something
  /// else to do first. Its user then waits for that stream to be readable, which takes less memory
  /// than a pull() that waits; pull() comes after that. The stream must live until close().
  [[nodiscard]] virtual stream* waits_for() noexcept { return nullptr; }
  /// Sends the whole chain. If it is empty, waits until there is room to send.
  [[nodiscard]] virtual task<> push(chain out) = 0;
  /// Sends the bytes that leave at once, the head's and then the body's. A layer may also take
  /// bytes that cannot leave at once, and then says that a flush is due. Called only while neither
  /// push() nor flush() runs, and not before all taken bytes have left.
  virtual sent_now try_push([[maybe_unused]] byte_view head,
                            [[maybe_unused]] const piece& body) noexcept {
    return {};
  }
  /// Sends at least one of the bytes that try_push() has taken, or that a failed push() has kept;
  /// false if others are left. push() sends all of them before its own. It is never called while a
  /// push() runs.
  [[nodiscard]] virtual task<bool> flush();
  /// Tells the peer that no more will be pushed, after all bytes that were taken. Called once,
  /// while neither push() nor flush() runs.
  virtual void end_pushing() noexcept {}
  /// See stream::peer().
  [[nodiscard]] virtual address peer() const noexcept { return {}; }
  /// See stream::unread(): the bytes that pull() would give before the end, if their number is
  /// known.
  [[nodiscard]] virtual unread_input unread() const noexcept { return {}; }
  /// The application protocol that both ends agreed on (TLS: ALPN, RFC 7301); "" if they did not.
  [[nodiscard]] virtual std::string_view application_protocol() const noexcept { return {}; }
  virtual void end_with_last_write() noexcept {}
  virtual void reset_on_close() noexcept {}
  /// See stream::cut(): the stream calls no push() or end_pushing() after this. close() must not
  /// show the peer an orderly end, nor send what the layer has kept.
  virtual void cut() noexcept { reset_on_close(); }
  /// Called once, at the end.
  virtual void close() noexcept = 0;
  /// How many bytes of the push() that failed last the layer keeps, and sends first next time. The
  /// writer's counter includes them.
  [[nodiscard]] virtual std::size_t kept() const noexcept { return 0; }
};

/// A stream that this layer carries. number() is -1: no bytes pass beside the layer.
/// Thread: call it in the stream's color. Fails: throws std::bad_alloc.
[[nodiscard]] stream make_stream(std::unique_ptr<stream_layer> layer);

/// The layer that carries an open stream, for a layer's own functions to find it; null where none
/// does. Thread: the stream's color.
[[nodiscard]] stream_layer* layer_of(const stream& s) noexcept;

}  // namespace heddle
