// SPDX-License-Identifier: MIT
// The body of a request while a task of its own sends it, so that a server may answer before it has
// read all of it. How bytes leave is up to the version of HTTP.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/client/outgoing.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/task.hh"

namespace heddle::http::detail {

/// Sends the body of one request. Thread: the client's color. Owns: the bytes, or the function that
/// gives them.
class body_upload {
 public:
  explicit body_upload(const outgoing& what)
      : bytes_(what.parts() ? std::string() : what.bytes()),
        parts_(what.parts()),
        length_(what.length()) {}
  body_upload(const body_upload&) = delete;
  virtual ~body_upload() = default;

  /// Sends it in a task of its own, which cancel() ends.
  static void start(std::shared_ptr<body_upload> self);
  void cancel() noexcept {
    if (!ended_) stop_.cancel();
  }

  [[nodiscard]] bool ended() const noexcept { return ended_; }
  /// Cancelled when the upload has ended, with or without success.
  [[nodiscard]] cancel_source& over() noexcept { return over_; }
  /// Whether the whole body has been handed to the connection.
  [[nodiscard]] bool sent() const noexcept { return sent_; }
  /// Whether the upload ended before the end of the body because the server took nothing for
  /// client_timeouts::transfer.
  [[nodiscard]] bool stalled() const noexcept { return stalled_; }
  /// The exception of the request's body_source; null if there is none.
  [[nodiscard]] const std::exception_ptr& failed() const noexcept { return failed_; }

 protected:
  // False: the connection takes no more. The reader of the answer finds out why, because the server
  // may have answered before it stopped reading.

  /// Called before the first byte of the body.
  [[nodiscard]] virtual task<bool> begin() { co_return true; }
  [[nodiscard]] virtual task<bool> put(std::string_view bytes) = 0;
  /// Called after the last byte.
  [[nodiscard]] virtual task<bool> finish() { co_return true; }
  /// Ends the request such that the server does not take the part sent so far for the whole body.
  virtual void abandon() noexcept = 0;

  /// put() or another gives false because the server took nothing in time.
  void note_stall() noexcept { stalled_ = true; }
  [[nodiscard]] bool length_known() const noexcept { return !parts_ || length_.has_value(); }
  /// Skips bytes of the body that have been sent already.
  void skip(std::size_t bytes) noexcept { from_ = bytes; }

 private:
  [[nodiscard]] static task<> run(std::shared_ptr<body_upload> self);
  [[nodiscard]] static task<> run_until_stopped(std::shared_ptr<body_upload> self);
  [[nodiscard]] task<bool> send_bytes();
  [[nodiscard]] task<bool> send_parts();

  std::string bytes_;
  std::size_t from_ = 0;
  body_source parts_;
  std::optional<std::uint64_t> length_;
  cancel_source stop_;
  cancel_source over_;
  std::exception_ptr failed_;
  bool ended_ = false;
  bool sent_ = false;
  bool stalled_ = false;
};

}  // namespace heddle::http::detail
