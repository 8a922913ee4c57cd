// SPDX-License-Identifier: MIT
// Messages and the end of a WebSocket connection (RFC 6455 sections 5.4 to 7). The handshake is in
// websocket_handshake.cc, frames are in websocket_frames.cc.
#include "heddle/web/websocket.hh"

#include <algorithm>
#include <utility>

#include "heddle/base/sometimes.hh"
#include "heddle/core/expected.hh"
#include "heddle/sched/runtime.hh"
#include "web/websocket_deflate.hh"
#include "web/websocket_session.hh"

namespace heddle::http {
namespace {

/// The least time of a wait for the peer's close frame while ours has not left.
constexpr nanoseconds shortest_wait = std::chrono::milliseconds(1);

failure closed_failure() {
  return failure(std::make_error_code(std::errc::broken_pipe), "the WebSocket is closed");
}

std::span<char> chars_of(received& block) noexcept {
  return {reinterpret_cast<char*>(block.writable().data()), block.size()};
}

bool is_utf8(std::string_view text) noexcept {
  utf8_check check;
  return check.add(text) && check.whole();
}

}  // namespace

websocket::session::session(stream of, std::string_view early_bytes, const websocket_options& o,
                            bool server, websocket_agreement agreed,
                            std::shared_ptr<cancel_source> drained_by)
    : connection(std::move(of)),
      block(early_bytes.empty() ? received() : received::copy_of(byte_view(early_bytes))),
      in(chars_of(block)),
      reader({o.message_bytes_max, o.fragments_max, server,
              agreed.deflate_bits != 0 ? &inflate_websocket : nullptr}),
      draining(std::move(drained_by)),
      ping_after(o.ping_after),
      pong_timeout(o.pong_timeout),
      write_timeout(o.write_timeout),
      close_timeout(o.close_timeout),
      protocol(agreed.protocol.empty()
                   ? nullptr
                   : std::make_unique<const std::string>(std::move(agreed.protocol))),
      deflate_from(o.deflate_from),
      deflate_bits(agreed.deflate_bits),
      is_server(server) {}

websocket::session::~session() {
  if (outbox == nullptr) return;
  outbox->of = nullptr;
  connection.close();
}

void websocket::session::send_control(websocket_opcode what, std::string_view payload) {
  if (outbox != nullptr) return outbox->add(what, payload);
  auto box = std::make_shared<websocket_outbox>(*this);
  box->add(what, payload);
  websocket_outbox::write(std::move(box), connection, write_timeout);
}

void websocket::session::note_end(std::uint16_t code, std::string_view reason, bool by_peer) {
  if (how) return;
  how = std::make_unique<const websocket_end>(
      websocket_end{.code = code, .reason = std::string(reason), .by_peer = by_peer});
}

void websocket::session::end(std::uint16_t code, std::string_view reason, bool by_peer) {
  if (is_over()) return;
  move_to(websocket_phase::over);
  note_end(code, reason, by_peer);
  in = {};
  block.release();
}

task<> websocket::session::write_frame(websocket_opcode what, std::string_view payload) {
  std::uint32_t mask = 0;
  std::string copy;
  bool compressed = false;
  if (deflate_bits != 0 && payload.size() >= deflate_from) {
    if (std::optional<std::string> packed = deflate_websocket(payload, deflate_bits)) {
      copy = std::move(*packed);
      payload = copy;
      compressed = true;
    }
  }
  if (!is_server) {
    mask = static_cast<std::uint32_t>(runtime::here().io().random());
    if (!compressed) copy = payload;
    mask_websocket(copy.data(), copy.size(), mask, 0);
    payload = copy;
  }
  const websocket_head head =
      make_websocket_head(what, true, compressed, payload.size(), !is_server, mask);
  // Without a counter: if this ends early, the stream refuses the frames that wait behind it.
  const auto sent =
      co_await as_expected(with_timeout(connection.write({head.text(), payload}), write_timeout));
  if (sent) co_return;
  // A part of the message may have left, so the peer would not understand any further message.
  connection.cut();
  connection.close();
  end(websocket_code::abnormal, sent.error().message(), false);
  throw failure(sent.error(), "a WebSocket message was not sent");
}

void websocket::session::begin_close(std::uint16_t code, std::string_view reason) {
  if (!is_open()) return;
  move_to(websocket_phase::closing);
  answer_limit = never;
  std::string payload;
  if (code != websocket_code::none) {
    payload = {static_cast<char>(code >> 8), static_cast<char>(code & 0xff)};
    payload += reason;
  }
  send_control(websocket_opcode::close, payload);
}

task<> websocket::session::close_sent() {
  if (outbox == nullptr) co_return;
  const std::shared_ptr<websocket_outbox> box = outbox->shared_from_this();
  static_cast<void>(co_await as_expected(box->all_left.wait()));
}

void websocket::session::end_writing() noexcept {
  try {
    connection.shutdown_write();
  } catch (const failure&) {  // the connection is gone already
  }
}

task<> websocket::session::linger() {
  if (outbox != nullptr) {
    outbox->ends = true;
  } else {
    end_writing();
  }
  while (clock::now() < answer_limit) {
    const time_point limit = limit_of_wait();
    const auto got = co_await as_expected(with_deadline(connection.receive(), limit));
    if (got ? got->empty() : got.error() != std::errc::timed_out) break;
  }
  co_await close_sent();
}

void websocket::session::answer_is_due(bool closed) noexcept {
  if (closed || is_open())
    answer_limit = add_saturated(clock::now(), closed ? close_timeout : pong_timeout);
}

time_point websocket::session::limit_of_wait() const noexcept {
  const time_point now = clock::now();
  if ((pinged || !is_open()) && now < answer_limit && answer_limit != never) return answer_limit;
  if (!is_open()) return add_saturated(now, std::max(close_timeout, shortest_wait));
  const nanoseconds patience = pinged ? pong_timeout : ping_after;
  return patience == nanoseconds::zero() ? never : add_saturated(now, patience);
}

task<bool> websocket::session::nothing_came(std::error_code why) {
  if (why == std::errc::timed_out) {
    // The wait began before our ping or close frame left.
    if ((pinged || !is_open()) && clock::now() < answer_limit) co_return true;
    if (!is_open() || pinged) {
      connection.close();
      how.reset();  // the end that close() asked for did not come
      end(websocket_code::abnormal, is_open() ? "no answer to a ping" : "no close frame came",
          false);
      co_return false;
    }
    pinged = true;
    answer_limit = never;
    send_control(websocket_opcode::ping, {});
    co_return true;
  }
  if (why == std::errc::operation_canceled && draining->canceled()) {
    HEDDLE_SOMETIMES("a server drains while a WebSocket is open");
    draining = std::make_shared<cancel_source>();
    note_end(websocket_code::going_away, "the server stops", false);
    begin_close(websocket_code::going_away, "the server stops");
    if (phase == websocket_phase::closing) move_to(websocket_phase::leaving);
    co_return !is_over();
  }
  end(websocket_code::abnormal, why.message(), false);
  co_return false;
}

task<bool> websocket::session::more() {
  block.release();
  for (;;) {
    // Frames behind our close frame give the peer no more time for its own.
    if (!is_open() && clock::now() >= answer_limit)
      co_return co_await nothing_came(std::make_error_code(std::errc::timed_out));
    const time_point limit = limit_of_wait();
    // One form of waiting, because each takes room in the frame of a connection that waits.
    result<received> got =
        co_await as_expected(with_cancel(*draining, with_deadline(connection.receive(), limit)));
    if (!got) {
      // The task itself was cancelled: the caller gets that error, and the connection stays.
      if (worker::running().current_context().canceled()) throw failure(got.error());
      if (!co_await nothing_came(got.error())) co_return false;
      continue;
    }
    pinged = false;
    if (got->empty()) {
      end(websocket_code::abnormal, "the connection ended without a close frame", true);
      co_return false;
    }
    block = std::move(*got);
    in = chars_of(block);
    co_return true;
  }
}

websocket::websocket(std::unique_ptr<session> of) noexcept : session_(std::move(of)) {}
websocket::websocket(websocket&&) noexcept = default;
websocket& websocket::operator=(websocket&&) noexcept = default;
websocket::~websocket() = default;

const websocket_end& websocket::ended() const noexcept {
  static const websocket_end not_yet;
  return session_->is_over() ? *session_->how : not_yet;
}
const std::string& websocket::protocol() const noexcept {
  static const std::string none;
  return session_->protocol ? *session_->protocol : none;
}
response websocket::done() { return upgraded(stream(), {}).done(); }

task<bool> websocket::session::wait_to_read(mutex::hold& turn, bool dropping) {
  for (;;) {
    if (!dropping) ++receivers_waiting;
    const time_point limit = dropping ? limit_of_wait() : never;
    auto given = co_await as_expected(with_deadline(to_read.lock(), limit));
    if (!dropping) --receivers_waiting;
    if (given) {
      turn = std::move(*given);
      co_return true;
    }
    if (!dropping || given.error() != std::errc::timed_out) throw failure(given.error());
    if (!is_over() && clock::now() < answer_limit) continue;  // our close frame left meanwhile
    if (!is_over()) connection.close();                       // the task that reads sees it
    co_return false;
  }
}

task<std::optional<websocket_message>> websocket::session::read(bool dropping) {
  mutex::hold turn = to_read.try_lock();
  if (!turn && !co_await wait_to_read(turn, dropping)) co_return std::nullopt;
  for (;;) {
    while (!is_over() && !in.empty()) {
      if (dropping && receiver_in_line()) co_return std::nullopt;
      switch (reader.read(in)) {
        using enum websocket_reader::event;
        case more:
        case pong:
          break;
        case message:
          if (dropping || phase == websocket_phase::leaving) {
            static_cast<void>(reader.take_message());
            break;
          }
          co_return websocket_message{reader.take_message(), reader.is_text()};
        case ping:
          if (is_open()) send_control(websocket_opcode::pong, reader.control());
          break;
        case close:
          note_end(reader.code(), reader.control(), true);
          begin_close(reader.code(), {});
          co_await close_sent();
          end(reader.code(), {}, true);
          break;
        case failed:
          note_end(reader.code(), reader.why(), false);
          begin_close(reader.code(), reader.why());
          co_await linger();
          end(reader.code(), reader.why(), false);
          break;
      }
    }
    if (is_over() || (dropping && receiver_in_line()) || !co_await this->more())
      co_return std::nullopt;
  }
}

task<std::optional<websocket_message>> websocket::receive() { return session_->read(false); }

task<> websocket::send(std::string_view text) {
  session& s = *session_;
  if (!is_utf8(text))
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "a text message must be UTF-8; send_binary() takes any bytes");
  if (!s.is_open()) throw closed_failure();
  co_await s.write_frame(websocket_opcode::text, text);
}

task<> websocket::send_binary(std::string_view bytes) {
  session& s = *session_;
  if (!s.is_open()) throw closed_failure();
  co_await s.write_frame(websocket_opcode::binary, bytes);
}

task<> websocket::send_message(const websocket_message& m) {
  return m.text ? send(std::string_view(m.data)) : send_binary(m.data);
}

task<> websocket::close(std::uint16_t code, std::string_view reason) {
  session& s = *session_;
  if (!websocket_code_valid(code) || reason.size() + 2 > websocket_control_bytes_max ||
      !is_utf8(reason))
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "a WebSocket closes with a code of RFC 6455 section 7.4 and at most 123 bytes");
  if (s.is_over()) co_return;
  s.note_end(code, reason, false);
  s.begin_close(code, reason);
  while (!s.is_over() && s.connection.is_open()) static_cast<void>(co_await s.read(true));
}

}  // namespace heddle::http
