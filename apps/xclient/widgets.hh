// SPDX-License-Identifier: MIT
// The widgets: each draws its part of the window and knows the others by topics only.
#pragma once

#include <memory>

#include "window.hh"

namespace xclient {

inline constexpr std::uint16_t bar_width = 16;
inline constexpr std::uint16_t line_height = 10;
inline constexpr int lines_all = 200;
inline constexpr int lines_seen = window_height / line_height;
inline constexpr int menu_items = 5;
inline constexpr std::uint16_t item_height = 18;
inline constexpr std::uint16_t menu_width = 90;

inline constexpr rgb color_bar = 0xc0c0c0;
inline constexpr rgb color_thumb = 0x404080;
inline constexpr rgb color_menu = 0xffe080;
inline constexpr rgb color_chosen = 0xd04020;
/// Of the view's line n, so that what is scrolled can be seen.
[[nodiscard]] constexpr rgb color_of_line(int n) {
  return static_cast<rgb>(0x200000 + n * 0x010103);
}

class widget {
 public:
  widget() = default;
  widget(const widget&) = delete;
  widget& operator=(const widget&) = delete;
  virtual ~widget() = default;
};
[[nodiscard]] std::unique_ptr<widget> make_view(event_bus& b, window& w);
[[nodiscard]] std::unique_ptr<widget> make_scrollbar(event_bus& b, window& w);
[[nodiscard]] std::unique_ptr<widget> make_menu(event_bus& b, window& w);

}  // namespace xclient
