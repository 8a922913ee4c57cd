// SPDX-License-Identifier: MIT
// What happens in the window, from the server's events up to what widgets make of them.
#pragma once

#include <cstdint>

#include "heddle/bus/topic.hh"

namespace xclient {

struct point {
  std::int16_t x = 0;
  std::int16_t y = 0;
};
struct pointer {
  point at;
  std::uint8_t button = 0;  ///< pressed or released; 1 to 5
  bool control = false;     ///< the control key is held
  bool dragging = false;    ///< button 1 is held
};

// From the server.
struct exposed : heddle::topic<> {};
struct button_pressed : heddle::topic<const pointer&> {};
struct button_released : heddle::topic<const pointer&> {};
struct pointer_moved : heddle::topic<const pointer&> {};

// Between widgets.
struct menu_wanted : heddle::topic<point> {};      ///< control and a button
struct menu_shown : heddle::topic<int> {};         ///< with so many items
struct menu_item_entered : heddle::topic<int> {};  ///< the pointer is on it; -1: on none
struct menu_chosen : heddle::topic<int> {};
struct thumb_dragged : heddle::topic<std::int16_t> {};  ///< its middle is to be there
struct view_scrolled : heddle::topic<int> {};           ///< the first line that is seen

}  // namespace xclient
