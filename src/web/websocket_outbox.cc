// SPDX-License-Identifier: MIT
// Control frames on their way out. The function that writes them is tamed, because receive(), which
// asks for a pong, may end or be cancelled before there is room for it. It ends soon after the
// session, which closes the connection.
#include "web/websocket_outbox.hh"

#include <utility>

#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/sched/runtime.hh"
#include "web/websocket_session.hh"

namespace heddle::http {

std::string whole_frame(websocket_opcode what, std::string_view payload, bool masked) {
  const std::uint32_t mask = masked ? static_cast<std::uint32_t>(runtime::here().io().random()) : 0;
  const websocket_head head = make_websocket_head(what, true, false, payload.size(), masked, mask);
  std::string frame(head.text());
  frame += payload;
  if (masked) mask_websocket(frame.data() + head.size, payload.size(), mask, 0);
  return frame;
}

websocket_outbox::websocket_outbox(websocket::session& s) noexcept : of(&s) { s.outbox = this; }

void websocket_outbox::leave() noexcept {
  if (websocket::session* const s = std::exchange(of, nullptr)) s->outbox = nullptr;
}

void websocket_outbox::add(websocket_opcode what, std::string_view payload) {
  switch (what) {
    using enum websocket_opcode;
    case pong:
      latest_ping = payload;
      pongs = true;
      break;
    case close:
      reason = payload;
      closes = true;
      break;
    default:
      pings = true;
  }
}

std::string websocket_outbox::take(bool masked) {
  std::string frames;
  if (std::exchange(pings, false)) frames += whole_frame(websocket_opcode::ping, {}, masked);
  if (std::exchange(pongs, false))
    frames += whole_frame(websocket_opcode::pong, latest_ping, masked);
  if (std::exchange(closes, false)) frames += whole_frame(websocket_opcode::close, reason, masked);
  return frames;
}

tamed websocket_outbox::write(std::shared_ptr<websocket_outbox> box, stream to,
                              nanoseconds write_timeout) {
  while (box->of != nullptr && !box->empty()) {
    const bool asks = box->pings, closes = box->closes;
    const std::string frames = box->take(!box->of->is_server);
    const byte_view bytes(frames);
    const auto sent = co_await as_expected(with_timeout(to.write(bytes), write_timeout));
    if (!sent) {  // a part of a frame may have left
      to.cut();
      to.close();
    }
    if (box->of == nullptr) break;
    websocket::session& s = *box->of;
    if (!sent) {
      s.end(websocket_code::abnormal, sent.error().message(), false);
      break;
    }
    if (closes || asks) s.answer_is_due(closes);
    if (closes && box->ends) s.end_writing();
  }
  box->all_left.count_down();
  box->leave();
}

}  // namespace heddle::http
