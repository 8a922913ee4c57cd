// SPDX-License-Identifier: MIT
// The text: a line is a bar of its color. It is drawn anew when it is scrolled or uncovered.
#include "widgets.hh"

namespace xclient {
namespace {

class view final : public widget {
 public:
  view(event_bus& b, window& w) : window_(w) {
    b.bind<exposed, &view::draw>(this, 10);
    b.bind<view_scrolled, &view::scroll>(this, 20);
    b.bind<menu_chosen, &view::uncover>(this, 10);
  }

 private:
  void draw() {
    for (int i = 0; i < lines_seen; ++i)
      window_.fill({bar_width, static_cast<std::int16_t>(i * line_height), window_width - bar_width,
                    line_height},
                   color_of_line(first_ + i));
  }
  void scroll(int first) {
    first_ = first;
    draw();
  }
  void uncover(int) { draw(); }

  window& window_;
  int first_ = 0;
};

}  // namespace

std::unique_ptr<widget> make_view(event_bus& b, window& w) { return std::make_unique<view>(b, w); }

}  // namespace xclient
