// SPDX-License-Identifier: MIT
// The popup menu: control and button 1 show it where the pointer is; the item under the pointer is
// marked; letting go chooses it.
#include <algorithm>

#include "widgets.hh"

namespace xclient {
namespace {

class menu final : public widget {
 public:
  menu(event_bus& b, window& w) : bus_(b), window_(w) {
    b.bind<button_pressed, &menu::want>(this, 10);
    b.bind<menu_wanted, &menu::place>(this, 10);
    b.bind<menu_wanted, &menu::show>(this, 20);
    b.bind<menu_shown, &menu::mark_none>(this, 10);
    b.bind<pointer_moved, &menu::track>(this, 10);
    b.bind<menu_item_entered, &menu::mark>(this, 10);
    b.bind<button_released, &menu::choose>(this, 10);
  }

 private:
  void want(const pointer& p) {
    if (p.button == 1 && p.control) bus_.raise<menu_wanted>(p.at);
  }
  void place(point at) {
    where_ = {std::min<std::int16_t>(at.x, window_width - menu_width),
              std::min<std::int16_t>(at.y, window_height - menu_items * item_height), menu_width,
              menu_items * item_height};
  }
  void show(point) {
    shown_ = true;
    window_.fill(where_, color_menu);
    bus_.raise<menu_shown>(menu_items);
  }
  void mark_none(int) { marked_ = -1; }

  void track(const pointer& p) {
    if (!shown_) return;
    const int item = where_.contains(p.at) ? (p.at.y - where_.y) / item_height : -1;
    if (item != marked_) bus_.raise<menu_item_entered>(item);
  }
  void mark(int item) {
    fill_item(marked_, color_menu);
    fill_item(item, color_chosen);
    marked_ = item;
  }
  void choose(const pointer&) {
    if (!shown_) return;
    shown_ = false;
    bus_.raise<menu_chosen>(marked_);
  }
  void fill_item(int item, rgb color) {
    if (item >= 0)
      window_.fill({where_.x, static_cast<std::int16_t>(where_.y + item * item_height), menu_width,
                    item_height},
                   color);
  }

  event_bus& bus_;
  window& window_;
  box where_{};
  bool shown_ = false;
  int marked_ = -1;
};

}  // namespace

std::unique_ptr<widget> make_menu(event_bus& b, window& w) { return std::make_unique<menu>(b, w); }

}  // namespace xclient
