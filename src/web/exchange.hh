// SPDX-License-Identifier: MIT
// One request and its answer, independent of how a connection frames them. request, body_writer and
// routes use only this interface. Each kind of connection derives its own exchange;
// http1_exchange.hh is the first.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/core/task.hh"
#include "heddle/http/request.hh"
#include "heddle/http/response.hh"
#include "heddle/sched/handler_time.hh"
#include "heddle/web/upgraded.hh"
#include "web/body_budget.hh"
#include "web/server_shared.hh"

namespace heddle::http {

/// The error of a write whose client takes no more.
[[nodiscard]] inline std::error_code client_gone() noexcept {
  return std::make_error_code(std::errc::broken_pipe);
}

/// Whether a write that failed so failed because of the client.
[[nodiscard]] inline bool is_loss_of_client(const std::error_code& code) noexcept {
  return code == client_gone() || code == std::errc::connection_reset ||
         code == std::errc::connection_aborted || code == std::errc::timed_out;
}

/// Thread: the connection's color. Owns: the limits of the request's body, and fields to add to its
/// answer. The head belongs to the connection.
class exchange {
 public:
  exchange(const exchange&) = delete;
  exchange& operator=(const exchange&) = delete;

  [[nodiscard]] const request_head& head() const noexcept { return head_; }
  /// The client's address, which a trusted proxy may have told.
  [[nodiscard]] virtual const address& peer() noexcept = 0;
  [[nodiscard]] virtual address connection_peer() noexcept = 0;

  // The request's body.

  /// The next part, valid until the next call; empty at the end. Fails as request::read() does.
  [[nodiscard]] virtual task<std::string_view> read_body() = 0;
  [[nodiscard]] virtual std::string_view trailer(std::string_view name) const noexcept = 0;
  /// The trailer fields of a body that has ended, as they came: "Name: value\r\n" each.
  [[nodiscard]] virtual std::string_view trailer_lines() const noexcept = 0;
  /// See request::client_ended().
  [[nodiscard]] virtual task<bool> client_ended() = 0;
  [[nodiscard]] body_budget& budget() noexcept { return budget_; }

  // An answer that the handler writes in parts instead of returning it whole.

  /// Fails: invalid_argument if a field or the status must not be sent.
  [[nodiscard]] virtual task<> start(response head) = 0;
  /// Sends an answer before the answer, or nothing if the client's protocol has none.
  [[nodiscard]] virtual task<> inform(const response& head) = 0;
  [[nodiscard]] virtual task<> write_part(std::string_view bytes) = 0;
  /// Sends the bytes that are gathered.
  [[nodiscard]] virtual task<> write_out() = 0;
  virtual void add_trailer(std::string_view name, std::string_view value) = 0;
  /// Hands the connection over; throws status_error(426) if the client did not ask for the
  /// protocol.
  [[nodiscard]] virtual task<upgraded> upgrade(std::string_view protocol, response head) = 0;
  /// See request::extended_protocol().
  [[nodiscard]] virtual std::string_view extended_protocol() const noexcept { return {}; }
  /// The same as upgrade(); `then` gets the connection when the request has ended.
  [[nodiscard]] virtual task<response> hand_over(std::string_view protocol, response head,
                                                 take_over then) = 0;
  /// The status of the answer that was started; 0 if none was.
  [[nodiscard]] int started_status() const noexcept { return started_status_; }

  /// Adds a field to the answer of this request, whichever it will be.
  void add_field(std::string_view name, std::string_view value);
  /// An error answer in the server's form. `head` is null if the request could not be parsed.
  [[nodiscard]] response error(const request_head* head, int status, std::string_view why) const;
  /// This handler is about to be called, for the reports slow-handler and failed-handler.
  void begin_handler(const callee& what) noexcept {
    handler_ = &what;
    if (shared_.timed) [[unlikely]]
      heddle::detail::handler_begins(what);
  }
  [[nodiscard]] cancel_source& draining() noexcept { return shared_.draining; }
  [[nodiscard]] std::shared_ptr<cancel_source> kept_draining() noexcept {
    return shared_.draining_kept;
  }

 protected:
  exchange(server_shared& shared, const request_head& head) noexcept
      : shared_(shared), head_(head) {}
  ~exchange() = default;

  /// The client of a connection with this peer.
  [[nodiscard]] address client_behind(const address& of_connection) const noexcept;
  /// Converts the handler's exception into an answer. If the handler was cancelled, rethrows.
  [[nodiscard]] response answer_of_failure();
  /// The handler has ended or failed.
  void end_handler() const noexcept {
    if (shared_.timed) [[unlikely]]
      heddle::detail::handler_ends();
  }

  server_shared& shared_;
  const request_head& head_;
  body_budget budget_;
  field_list added_;
  int started_status_ = 0;

 private:
  /// Reports the exception in flight.
  void report_failure();

  const callee* handler_ = nullptr;  // the one that was called last
};

}  // namespace heddle::http
