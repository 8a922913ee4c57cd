// SPDX-License-Identifier: MIT
// One request on its way through a proxy, and its answer on the way back.
//
// The common case is one coroutine: a head (with a small body that has arrived whole) is written in
// one call, and an answer that arrives whole is returned. Other bodies are sent by a task beside
// the one that reads the answer, so that an upstream may answer before it has read all of it.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/detail/legal_move.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/scope.hh"
#include "heddle/http/response_parser.hh"
#include "proxy/core.hh"
#include "proxy/upstream_exchange.hh"

namespace heddle::http::detail {

/// Why an upstream did not do its work, and the status of the answer to the client.
struct upstream_failure {
  int status;
  std::string why;
  bool gone = false;   ///< the connection has ended, and there was no answer
  bool blames = true;  ///< the upstream counts it as its failure
  bool body = false;   ///< the upstream did not take the request's body
};

/// A place at an upstream: a permit, and over HTTP/1.1 the connection. It is closed at the end,
/// unless keep() was called.
class upstream_use {
 public:
  upstream_use() noexcept = default;
  upstream_use(upstream& of, gate::hold permit) noexcept : of_(&of), permit_(std::move(permit)) {
    ++of.counters.active;
  }
  upstream_use(upstream_use&& other) noexcept
      : on(std::move(other.on)),
        reused(other.reused),
        of_(std::exchange(other.of_, nullptr)),
        permit_(std::move(other.permit_)) {}
  upstream_use& operator=(upstream_use&& other) noexcept {
    end();
    on = std::move(other.on);
    reused = other.reused;
    of_ = std::exchange(other.of_, nullptr);
    permit_ = std::move(other.permit_);
    return *this;
  }
  ~upstream_use() { end(); }

  void keep() {
    of_->connections.keep(std::move(on));
    end();
  }
  void end() noexcept {
    if (of_ == nullptr) return;
    if (on) on.close();
    --std::exchange(of_, nullptr)->counters.active;
    permit_.release();
  }
  [[nodiscard]] upstream& of() const noexcept { return *of_; }

  stream on;
  bool reused = false;

 private:
  upstream* of_ = nullptr;
  gate::hold permit_;
};

/// The body of a request on its way to the upstream, by the task upload().
enum class upload_state : std::uint8_t {
  none,     ///< the body leaves with the head, at once, or is empty
  waiting,  ///< the body has not arrived whole, and no part has left
  running,
  sent,     ///< whole
  stopped,  ///< the answer is over: how the upload fails is of no interest
  cut,      ///< the upload ended before the body did
};

[[nodiscard]] constexpr bool is_legal(upload_state from, upload_state to) noexcept {
  switch (to) {
    case upload_state::none:
      return false;
    case upload_state::waiting:
      return from == upload_state::none;
    case upload_state::running:  // again, if another try sends the body
      return from != upload_state::running && from != upload_state::stopped;
    case upload_state::sent:
    case upload_state::stopped:
      return from == upload_state::running;
    case upload_state::cut:
      return from == upload_state::running || from == upload_state::stopped;
  }
  return false;
}

/// The bytes of a request that are in the hands of its upload.
enum class handing : std::uint8_t {
  nothing,   ///< the upload waits for the client, or does not run
  rest_due,  ///< send() has left a rest: send_rest() must follow
  part,      ///< the upload waits until the upstream takes a part
};

/// Thread: the connection's color. Owns: the upstream's connection while it is in use.
class passage {
 public:
  passage(proxy_core& core, request& r) noexcept
      : core_(core), r_(r), head_(r.head()), extended_(r.extended_protocol()) {}
  passage(const passage&) = delete;

  /// Keeps the core: a reload may drop the proxy while a request is still on its way.
  [[nodiscard]] static task<response> run(std::shared_ptr<proxy_core> core, request& r);

 private:
  /// The outcome of one try.
  struct attempt {
    std::optional<response> answer = {};
    std::optional<upstream_failure> failed = {};
    bool connected = false;
  };

  // passage.cc: choosing, trying again, failing.
  [[nodiscard]] task<response> pass();
  [[nodiscard]] task<> read_first_part();
  [[nodiscard]] task<bool> reserve(upstream& at);
  [[nodiscard]] task<std::optional<upstream_failure>> connect(bool fresh);
  [[nodiscard]] task<> find_connection(bool fresh);
  void use(place&& on);
  [[nodiscard]] bool needs_http1() const;
  [[nodiscard]] task<attempt> try_once(bool fresh);
  [[nodiscard]] bool may_repeat(const attempt& a) const noexcept;
  [[nodiscard]] response fail(const upstream_failure& why);
  [[nodiscard]] std::string line_about(const upstream_failure& why) const;
  void write_head();

  // passage_send.cc: the request.
  [[nodiscard]] task<> send_head();
  [[nodiscard]] static task<> upload(passage& p);
  [[nodiscard]] task<> put_parts();
  void keep_for_repeat(std::string_view part);
  void move_to(upload_state next) {
    check_move(upload_, next);
    upload_ = next;
  }
  [[nodiscard]] bool streams() const noexcept { return upload_ != upload_state::none; }
  [[nodiscard]] bool upload_begun() const noexcept { return upload_ > upload_state::waiting; }
  [[nodiscard]] bool uploading() const noexcept { return upload_ == upload_state::running; }
  [[nodiscard]] bool sent_whole() const noexcept {
    return upload_ == upload_state::none || upload_ == upload_state::sent;
  }

  // passage_answer.cc: the answer.
  [[nodiscard]] task<response> exchange_alone();
  [[nodiscard]] task<response> exchange_beside_upload();
  [[nodiscard]] task<response> answer_beside_upload(bool sends);
  [[nodiscard]] task<bool> go_ahead();
  [[nodiscard]] task<bool> read_head(nanoseconds patience);
  [[nodiscard]] task<> read_final_head();
  [[nodiscard]] task<> inform_client();
  [[nodiscard]] task<response> relay();
  [[nodiscard]] task<response> relay_parts(response answer, lent_buffer gathered);
  [[nodiscard]] task<response> relay_upgrade();
  [[nodiscard]] bool may_switch_to(std::string_view protocol) const;
  /// The bytes of an extended CONNECT are the tunnel's, and no body.
  [[nodiscard]] bool has_body() const noexcept {
    return extended_.empty() && head_.body() != framing::none;
  }
  [[nodiscard]] bool fill(std::string& gathered);
  void put_trailers(body_writer& out) const;
  void end_of_body();
  /// Waits for bytes of the upstream; false at the end of its connection.
  [[nodiscard]] task<bool> more(nanoseconds patience, const char* where);
  [[nodiscard]] task<result<bool>> arrive_watching(nanoseconds patience);
  [[nodiscard]] static task<> watch_client(passage& p);
  [[nodiscard]] bool client_left_upload(std::uint64_t moved_before) const noexcept;
  /// The upstream does not take the request, and has not begun its answer.
  [[nodiscard]] bool request_stalls() const noexcept {
    return exchange_->stalled() && answer_.status() == 0 && !exchange_->head_begun();
  }
  [[noreturn]] void fail_stalled() const;
  [[nodiscard]] nanoseconds answer_patience() const noexcept;

  proxy_core& core_;
  request& r_;
  const request_head& head_;
  const std::string_view extended_;  // the protocol of an extended CONNECT (RFC 8441)
  std::string key_;                  // the key of the WebSocket handshake with the upstream
  std::vector<upstream*> tried_;

  // The request.
  upstream_use use_;
  std::optional<exchange_by_http1> by_http1_;  // on use_.on
  std::optional<exchange_by_http2> by_http2_;
  upstream_exchange* exchange_ = nullptr;  // one of them
  std::string out_;                        // the head, and the body if that has arrived whole
  std::size_t head_bytes_ = 0;             // the head's part of out_
  std::string first_parts_;                // another body's parts, as far as they were read
  bool parts_kept_ = true;                 // first_parts_ has all of them
  bool waits_ = false;                     // the client waits for 100 Continue
  sending form_ = sending::whole;
  handing handing_ = handing::nothing;
  upload_state upload_ = upload_state::none;
  time_point upload_ended_at_{};
  std::exception_ptr upload_failed_;

  // The answer.
  response_head answer_;
  bool started_ = false;  // the client gets it
  bool client_left_ = false;
  framing framing_ = framing::none;
  cancel_source* waiting_ = nullptr;  // ends the wait for the upstream
};

/// Passes bytes between a client and an upstream that have agreed on another protocol.
struct tunnel {
  stream upstream_side;
  std::string early;  ///< bytes that the upstream sent behind its head
  nanoseconds patience;
  upstream_use use;  ///< closes the upstream's side at the end

  task<> operator()(upgraded client);
};

}  // namespace heddle::http::detail
