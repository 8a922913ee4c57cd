// SPDX-License-Identifier: MIT
// The window by libxcb.
#include "window.hh"

#include <poll.h>
#include <xcb/xcb.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>

#include "heddle/io/watched_descriptor.hh"

namespace xclient {

namespace {

constexpr std::uint32_t wanted_events =
    XCB_EVENT_MASK_EXPOSURE | XCB_EVENT_MASK_BUTTON_PRESS | XCB_EVENT_MASK_BUTTON_RELEASE |
    XCB_EVENT_MASK_POINTER_MOTION | XCB_EVENT_MASK_BUTTON_MOTION;

struct freed {
  void operator()(void* p) const noexcept { std::free(p); }
};
template <class T>
using reply = std::unique_ptr<T, freed>;

}  // namespace

window::window(event_bus& b) : bus_(b), server_(xcb_connect(nullptr, nullptr)) {
  if (xcb_connection_has_error(server_) != 0) {
    xcb_disconnect(server_);
    const char* const display = std::getenv("DISPLAY");
    throw std::runtime_error(std::string("no X server at '") + (display ? display : "") +
                             "': set DISPLAY, or run under xvfb-run");
  }
  const xcb_screen_t* const screen = xcb_setup_roots_iterator(xcb_get_setup(server_)).data;
  if (screen->root_depth < 24) {
    xcb_disconnect(server_);
    throw std::runtime_error("the screen has fewer than 24 bits a pixel: start the server with 24");
  }
  id_ = xcb_generate_id(server_);
  const std::uint32_t values[] = {0xffffff, wanted_events};
  xcb_create_window(server_, XCB_COPY_FROM_PARENT, id_, screen->root, 0, 0, window_width,
                    window_height, 0, XCB_WINDOW_CLASS_INPUT_OUTPUT, screen->root_visual,
                    XCB_CW_BACK_PIXEL | XCB_CW_EVENT_MASK, values);
  brush_ = xcb_generate_id(server_);
  xcb_create_gc(server_, brush_, id_, 0, nullptr);
  xcb_map_window(server_, id_);
  xcb_flush(server_);
}

window::~window() { xcb_disconnect(server_); }

void window::fill(box where, rgb color) {
  if (color != brush_color_) {
    brush_color_ = color;
    xcb_change_gc(server_, brush_, XCB_GC_FOREGROUND, &color);
  }
  const xcb_rectangle_t r{where.x, where.y, where.width, where.height};
  xcb_poly_fill_rectangle(server_, id_, brush_, 1, &r);
}

void window::flush() { xcb_flush(server_); }

heddle::task<> window::shown() {
  const heddle::watched_descriptor fd(xcb_get_file_descriptor(server_));
  while (handle_waiting(), !drawn_) co_await fd.ready(POLLIN);
  flush();
}

heddle::task<> window::listen() {
  const heddle::watched_descriptor fd(xcb_get_file_descriptor(server_));
  for (;;) {
    while (handle_waiting()) {
    }
    flush();
    co_await fd.ready(POLLIN);
  }
}

bool window::handle_waiting() {
  const reply<xcb_generic_event_t> event(xcb_poll_for_event(server_));
  if (event == nullptr) {
    if (xcb_connection_has_error(server_) != 0)
      throw std::runtime_error("the X server has gone away");
    return false;
  }
  handle(event.get());
  return true;
}

void window::handle(const void* from_server) {
  const auto* const event = static_cast<const xcb_generic_event_t*>(from_server);
  // The first fields of the three pointer events are the same.
  const auto* const e = static_cast<const xcb_button_press_event_t*>(from_server);
  const int kind = event->response_type & 0x7f;
  ++handled_;
  if (kind == XCB_EXPOSE) {
    drawn_ = true;
    bus_.raise<exposed>();
    return;
  }
  if (kind != kind_press && kind != kind_release && kind != kind_move) return;
  const pointer p{{e->event_x, e->event_y},
                  e->detail,
                  (e->state & XCB_MOD_MASK_CONTROL) != 0,
                  (e->state & XCB_BUTTON_MASK_1) != 0};
  if (kind == kind_press) bus_.raise<button_pressed>(p);
  if (kind == kind_release) bus_.raise<button_released>(p);
  if (kind == kind_move) bus_.raise<pointer_moved>(p);
}

void window::play(int kind, const pointer& p) {
  xcb_button_press_event_t event{};
  event.response_type = static_cast<std::uint8_t>(kind);
  event.detail = p.button;
  event.event = id_;
  event.event_x = p.at.x;
  event.event_y = p.at.y;
  event.state = static_cast<std::uint16_t>((p.control ? XCB_MOD_MASK_CONTROL : 0) |
                                           (p.dragging ? XCB_BUTTON_MASK_1 : 0));
  xcb_send_event(server_, 0, id_, XCB_EVENT_MASK_NO_EVENT, reinterpret_cast<const char*>(&event));
  // Once the server has answered, what it sent before the answer has come.
  const reply<xcb_get_input_focus_reply_t> answer(
      xcb_get_input_focus_reply(server_, xcb_get_input_focus(server_), nullptr));
  while (handle_waiting()) {
  }
  flush();
}

std::vector<rgb> window::pixels() {
  const reply<xcb_get_image_reply_t> image(
      xcb_get_image_reply(server_,
                          xcb_get_image(server_, XCB_IMAGE_FORMAT_Z_PIXMAP, id_, 0, 0, window_width,
                                        window_height, ~0u),
                          nullptr));
  constexpr std::size_t count = std::size_t{window_width} * window_height;
  if (image == nullptr || xcb_get_image_data_length(image.get()) < static_cast<int>(4 * count))
    throw std::runtime_error("the server gives no image of the window: is it on the screen?");
  const std::uint8_t* const at = xcb_get_image_data(image.get());
  std::vector<rgb> out(count);
  for (std::size_t i = 0; i < count; ++i)
    out[i] = at[4 * i] | rgb{at[4 * i + 1]} << 8 | rgb{at[4 * i + 2]} << 16;
  return out;
}

}  // namespace xclient
