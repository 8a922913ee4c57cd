// SPDX-License-Identifier: MIT
// Listeners over anything: a program says where the next stream comes from, and gets a listener
// that every function that takes one accepts: connections wrapped in a layer, sockets passed by
// another process, the ends of pairs in a test.
//
//   class loud_connections : public stream_source {
//     task<stream> next() override {
//       co_return make_stream(std::make_unique<upper>(co_await door_.accept()));
//     }
//     void close() noexcept override { door_.close(); }
//     tcp_listener door_;
//   };
//   co_await http::serve(make_listener(std::make_unique<loud_connections>(...)), handler);
#pragma once

#include <memory>

#include "heddle/core/task.hh"
#include "heddle/io/listener.hh"

namespace heddle {

/// Thread: the listener's color; one next() at a time, in a task of the listener's own.
/// Owns: the source of its streams. It dies after close(), when next() does not run.
/// Cancel: finish() and close() of the listener cancel next().
/// Fails: a std::system_error thrown by next() is rethrown by accept(); the next accept() calls
/// next() again.
class stream_source {
 public:
  virtual ~stream_source() = default;
  /// The next connection. Called while an accept() waits and nothing is there. A handshake belongs
  /// into the connection's own task, or a slow peer keeps all others waiting.
  [[nodiscard]] virtual task<stream> next() = 0;
  /// Called once, at the end.
  virtual void close() noexcept = 0;
};

/// Thread: call it in the listener's color. Fails: throws std::bad_alloc.
[[nodiscard]] listener make_listener(std::unique_ptr<stream_source> source);

}  // namespace heddle
