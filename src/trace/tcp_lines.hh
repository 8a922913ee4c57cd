// SPDX-License-Identifier: MIT
// Paths of a picture with a bounded number of points: points in one column of pixels are joined.
// Coordinates are pixels, from above.
#pragma once

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

namespace heddle::trace {

/// The width of a column in pixels: points of a curve that are nearer than this are drawn as one.
inline constexpr double trace_column = 0.5;

[[nodiscard]] inline std::string text_of(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", v);
  return text;
}

/// Draws vertical strokes from one value to another; strokes of one column that touch are joined.
class strokes {
 public:
  void add(double x, double y0, double y1) {
    if (y0 - y1 < 1) y1 = y0 - 1;
    if (!empty_ && x - x_ < trace_column && y0 >= high_ - 1 && y1 <= low_ + 1) {
      low_ = std::max(low_, y0);
      high_ = std::min(high_, y1);
      return;
    }
    flush();
    empty_ = false;
    x_ = x;
    low_ = y0;
    high_ = y1;
  }
  std::string take() {
    flush();
    return std::move(d_);
  }

 private:
  void flush() {
    if (!empty_) d_ += "M" + text_of(x_) + " " + text_of(low_) + "V" + text_of(high_);
    empty_ = true;
  }
  std::string d_;
  bool empty_ = true;
  double x_ = 0, low_ = 0, high_ = 0;
};
/// A line of steps. In each column of pixels it keeps the lowest, the highest and the last value.
class steps {
 public:
  void add(double x, double y) {
    if (d_.empty()) {
      d_ = "M" + text_of(x) + " " + text_of(y);
      x_ = x;
    } else if (x - x_ >= trace_column) {
      flush();
      d_ += "H" + text_of(x) + "V" + text_of(y);
      x_ = x;
    }
    last_ = y;
    low_ = pending_ ? std::max(low_, y) : y;
    high_ = pending_ ? std::min(high_, y) : y;
    pending_ = true;
  }
  std::string take(double to_x) {
    if (d_.empty()) return {};
    flush();
    return d_ + "H" + text_of(to_x);
  }

 private:
  void flush() {
    if (pending_ && low_ - high_ >= 0.1) d_ += "V" + text_of(low_) + "V" + text_of(high_);
    if (pending_) d_ += "V" + text_of(last_);
    pending_ = false;
  }
  std::string d_;
  bool pending_ = false;
  double x_ = 0, last_ = 0, low_ = 0, high_ = 0;
};

}  // namespace heddle::trace
