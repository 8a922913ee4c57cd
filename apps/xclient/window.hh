// SPDX-License-Identifier: MIT
// A window on an X server, with the little that the widgets draw: filled rectangles. Requests are
// queued in memory until flush().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/core/task.hh"
#include "topics.hh"
#include "xclient_bus.hh"

struct xcb_connection_t;

namespace xclient {

inline constexpr std::uint16_t window_width = 400;
inline constexpr std::uint16_t window_height = 300;

struct box {
  std::int16_t x, y;
  std::uint16_t width, height;
  [[nodiscard]] bool contains(point p) const noexcept {
    return p.x >= x && p.x < x + width && p.y >= y && p.y < y + height;
  }
};
using rgb = std::uint32_t;  ///< 0xrrggbb

/// Thread: one color. Owns: the connection and the window.
/// Fails: the constructor with std::runtime_error when no server can be reached; listen() when it
///   goes away.
class window {
 public:
  /// On the server that $DISPLAY names.
  explicit window(event_bus& b);
  window(const window&) = delete;
  window& operator=(const window&) = delete;
  ~window();

  void fill(box where, rgb color);
  void flush();
  /// Waits until the window is on the screen and has been drawn.
  [[nodiscard]] heddle::task<> shown();
  /// Raises the topics of the server's events until it is cancelled.
  [[nodiscard]] heddle::task<> listen();
  /// Has the server send an event to this window, as if the pointer had done it, and handles all
  /// that it sends until then.
  void play(int kind, const pointer& p);
  /// What is on the screen, as the server has it: width times height pixels of 0xrrggbb.
  [[nodiscard]] std::vector<rgb> pixels();

 private:
  bool handle_waiting();
  void handle(const void* event);

  event_bus& bus_;
  xcb_connection_t* server_;
  std::uint32_t id_ = 0;
  std::uint32_t brush_ = 0;
  rgb brush_color_ = 0xff000000;
  std::uint64_t handled_ = 0;
  bool drawn_ = false;
};

inline constexpr int kind_press = 4;  ///< as the protocol numbers them
inline constexpr int kind_release = 5;
inline constexpr int kind_move = 6;

}  // namespace xclient
