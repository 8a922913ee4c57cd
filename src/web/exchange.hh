// SPDX-License-Identifier: MIT
// One request and its answer, independent of how a connection frames them. request, body_writer and
// routes use only this interface. The base class decides which answers may be sent, and counts
// them; each kind of connection derives its own exchange, which frames the answer
// (http1_exchange.hh, http2_exchange.hh).
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/core/task.hh"
#include "heddle/http/request.hh"
#include "heddle/http/response.hh"
#include "heddle/sched/detail/handler_time.hh"
#include "heddle/web/client_side.hh"
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

class answer_wait;

/// Thread: the connection's color. Owns: the limits of the request's body, fields to add to its
/// answer, and the state of an answer in parts. The head belongs to the connection.
class exchange {
 public:
  exchange(const exchange&) = delete;
  exchange& operator=(const exchange&) = delete;

  [[nodiscard]] const request_head& head() const noexcept { return head_; }
  /// The client's address, which a trusted proxy may have told.
  [[nodiscard]] const address& peer() noexcept {
    if (!peer_) peer_ = client_behind(socket_peer());
    return peer_;
  }
  [[nodiscard]] address connection_peer() noexcept {
    return shared_.options.trusted_proxies.empty() ? peer() : socket_peer();
  }

  // The request's body.

  /// The next part, valid until the next call; empty at the end. Fails as request::read() does.
  [[nodiscard]] virtual task<std::string_view> read_body() = 0;
  [[nodiscard]] virtual std::string_view trailer(std::string_view name) const noexcept = 0;
  /// The trailer fields of a body that has ended, as they came: "Name: value\r\n" each.
  [[nodiscard]] virtual std::string_view trailer_lines() const noexcept = 0;
  /// See request::client_ended().
  [[nodiscard]] virtual task<bool> client_ended() = 0;
  /// See request::look_at_client().
  [[nodiscard]] virtual client_side look_at_client() const noexcept { return client_side::open; }
  [[nodiscard]] body_budget& budget() noexcept { return budget_; }

  // An answer that the handler writes in parts instead of returning it whole.

  /// Starts an answer. Fails: invalid_argument if a field or the status must not be sent.
  [[nodiscard]] task<> start(response head);
  /// Sends an interim answer, or nothing if the client's protocol has none.
  [[nodiscard]] virtual task<> inform(const response& head) = 0;
  [[nodiscard]] virtual task<> write_part(std::string_view bytes) = 0;
  /// Sends the bytes that are gathered.
  [[nodiscard]] virtual task<> write_out() = 0;
  void add_trailer(std::string_view name, std::string_view value);
  /// Hands the connection over; throws status_error(426) if the client did not ask for the
  /// protocol.
  [[nodiscard]] virtual task<upgraded> upgrade(std::string_view protocol, response head) = 0;
  /// See request::extended_protocol().
  [[nodiscard]] virtual std::string_view extended_protocol() const noexcept { return {}; }
  /// Upgrades, and `then` gets the connection when the request has ended.
  [[nodiscard]] virtual task<response> hand_over(std::string_view protocol, response head,
                                                 take_over then) = 0;
  /// The status of the answer that was started; 0 if none was.
  [[nodiscard]] int started_status() const noexcept { return started_status_; }

  /// Adds a field to the answer of this request, whichever it will be.
  void add_field(std::string_view name, std::string_view value);
  /// An error answer in the server's form. `head` is null if the request could not be parsed.
  [[nodiscard]] response error(const request_head* head, int status, std::string_view why) const;
  /// Notes that this handler is about to be called, for the reports slow-handler and
  /// failed-handler.
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

  // The framing, by each kind of connection.

  /// The connection's other end.
  [[nodiscard]] virtual address socket_peer() noexcept = 0;
  /// Gathers the head of an answer whose parts the handler writes.
  virtual void put_started(const response& head) = 0;
  /// Called when the handler failed after it had started an answer.
  virtual void cut_started() noexcept {}
  /// When the answer was gathered; `never` if its latency is recorded later, with other answers.
  [[nodiscard]] virtual time_point answered_at() = 0;

  // The steps of an answer that are the same for every framing.

  /// Begins a request.
  void begin_request() noexcept {
    since_ = worker::running().now;  // the turn's start, to include queueing
    if (!shared_.options.trusted_proxies.empty()) peer_ = {};  // each request may have another
    if (!added_.empty()) added_.clear();
    started_status_ = 0;
  }
  /// Notes that the handler sends the answer itself from here on. `muted`: the answer has no body.
  void begin_parts(int status, bool muted) noexcept;
  /// Counts a part of a started answer. False if there is nothing to send. `cut`: an earlier write
  /// was cut short. Fails: broken_pipe then; message_size if more is written than was promised.
  [[nodiscard]] bool take_part(std::string_view bytes, bool cut);
  /// Counts a started answer, whose handler has ended. `whole`: nothing is known to be missing.
  /// False if the answer is shorter than promised.
  [[nodiscard]] bool end_parts(bool whole);
  /// Counts an answer. `asked` is null if the request could not be parsed.
  void count(const request_head* asked, int status, std::uint64_t bytes);

  server_shared& shared_;
  const request_head& head_;
  body_budget budget_;
  field_list added_;
  time_point since_{};
  int started_status_ = 0;
  bool shed_ = false;
  bool muted_ = false;        // the started answer has no body
  bool length_said_ = false;  // the started answer has promised its length
  field_list trailers_;       // trailers of the started answer
  std::uint64_t written_ = 0;

 private:
  friend class answer_wait;
  /// Converts the handler's exception into an answer. If the handler was cancelled, rethrows.
  void answer_failure(answer_wait& failed);
  [[nodiscard]] response answer_of(std::exception_ptr failed);
  /// Whether this response may be sent as the whole answer.
  [[nodiscard]] bool allows(const response& r) const noexcept {
    return r.sendable(head_.verb() == method::head) && !opens_by_mistake(r.status());
  }
  /// Makes an error answer of a response that may not be sent.
  void replace(response& r) const;
  /// Reports the exception in flight.
  void report_failure();
  /// The client of a connection with this peer.
  [[nodiscard]] address client_behind(const address& of_connection) const noexcept;
  /// Whether an answer with this status would open a protocol that its handler has not opened.
  [[nodiscard]] bool opens_by_mistake(int status) const noexcept {
    return head_.major_version() == 2 && status / 100 == 2 && !extended_protocol().empty();
  }
  [[nodiscard]] std::string unspoken() const {
    return "this resource does not speak " + std::string(extended_protocol());
  }

  std::uint64_t left_ = 0;           // bytes left of the started answer's promised length
  const callee* handler_ = nullptr;  // the one that was called last
  address peer_;
};

}  // namespace heddle::http
