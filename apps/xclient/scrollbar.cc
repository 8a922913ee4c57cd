// SPDX-License-Identifier: MIT
// The scrollbar: a drag of its thumb becomes a place of the thumb, and that a first line.
#include <algorithm>

#include "widgets.hh"

namespace xclient {
namespace {

constexpr std::int16_t thumb_height = window_height * lines_seen / lines_all;
constexpr std::int16_t thumb_way = window_height - thumb_height;

class scrollbar final : public widget {
 public:
  scrollbar(event_bus& b, window& w) : bus_(b), window_(w) {
    b.bind<exposed, &scrollbar::draw>(this, 20);
    b.bind<button_pressed, &scrollbar::grab>(this, 20);
    b.bind<button_released, &scrollbar::let_go>(this, 20);
    b.bind<pointer_moved, &scrollbar::drag>(this, 20);
    b.bind<thumb_dragged, &scrollbar::move>(this, 10);
    b.bind<view_scrolled, &scrollbar::redraw>(this, 30);
  }

 private:
  void draw() {
    window_.fill({0, 0, bar_width, window_height}, color_bar);
    window_.fill({2, top_, bar_width - 4, thumb_height}, color_thumb);
  }
  void grab(const pointer& p) {
    grabbed_ = p.button == 1 && !p.control && p.at.x < bar_width;
    if (grabbed_) bus_.raise<thumb_dragged>(p.at.y);
  }
  void let_go(const pointer&) { grabbed_ = false; }
  void drag(const pointer& p) {
    if (grabbed_ && p.dragging) bus_.raise<thumb_dragged>(p.at.y);
  }
  void move(std::int16_t middle) {
    top_ = std::clamp<std::int16_t>(static_cast<std::int16_t>(middle - thumb_height / 2), 0,
                                    thumb_way);
    bus_.raise<view_scrolled>(top_ * (lines_all - lines_seen) / thumb_way);
  }
  void redraw(int) { draw(); }

  event_bus& bus_;
  window& window_;
  std::int16_t top_ = 0;
  bool grabbed_ = false;
};

}  // namespace

std::unique_ptr<widget> make_scrollbar(event_bus& b, window& w) {
  return std::make_unique<scrollbar>(b, w);
}

}  // namespace xclient
