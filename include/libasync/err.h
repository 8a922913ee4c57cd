/* SPDX-License-Identifier: MIT
 * libasync's messages on standard error: `warn << "x = " << x << "\n"` with the program's name in
 * front, warnx without it, and fatal, which then exits with 1. Each is one write of one statement.
 */
#pragma once

#include "str.h"

/// The name that messages begin with; null before setprogname().
extern str progname;
/// Takes the last part of argv[0].
void setprogname(const char* path);

/// The message that a statement builds; it is written at the end of the statement.
class warnobj {
 public:
  enum flags { plain = 0, named = 1, fatal_flag = 2, abort_flag = 4 };

  explicit warnobj(int how);
  warnobj(const warnobj&) = delete;
  warnobj& operator=(const warnobj&) = delete;
  ~warnobj();

  template <class T>
  const warnobj& operator<<(const T& value) const {
    text_ << value;
    return *this;
  }
  [[gnu::format(printf, 2, 3)]] const warnobj& operator()(const char* format, ...) const;

 protected:
  void write() const;

 private:
  int how_;
  strbuf text_;
};

/// As warnobj; the program ends at the end of the statement.
class fatalobj : public warnobj {
 public:
  using warnobj::warnobj;
  [[noreturn]] ~fatalobj();
};

namespace heddle::libasync {

// Functions, because `warnx(...)` would be a declaration if it were a type.
[[nodiscard]] inline warnobj named_message() { return warnobj(warnobj::named); }
[[nodiscard]] inline warnobj plain_message() { return warnobj(warnobj::plain); }
[[nodiscard]] inline fatalobj last_message() {
  return fatalobj(warnobj::named | warnobj::fatal_flag);
}
[[nodiscard]] inline fatalobj abort_message() {
  return fatalobj(warnobj::named | warnobj::fatal_flag | warnobj::abort_flag);
}

}  // namespace heddle::libasync

#define warn ::heddle::libasync::named_message()
#define warnx ::heddle::libasync::plain_message()
#define vwarn ::heddle::libasync::named_message()
#define fatal ::heddle::libasync::last_message()
#define panic ::heddle::libasync::abort_message()
