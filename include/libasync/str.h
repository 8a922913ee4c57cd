/* SPDX-License-Identifier: MIT
 * libasync's strings: str is counted and does not change, and may be null; strbuf collects text
 * with `<<` and fmt(), and gives and takes it by a descriptor through its suio. Thread: one color.
 */
#pragma once

#include <sys/types.h>

#include <compare>
#include <concepts>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

class strbuf;

class str {
 public:
  str() noexcept = default;
  str(std::nullptr_t) noexcept {}
  str(const char* text) {
    if (text != nullptr) set(text);
  }
  str(const char* text, std::size_t n) { set(std::string_view(text, n)); }
  str(const std::string& text) { set(text); }
  str(const strbuf& text);
  /// As printf(); %m is the error in errno.
  [[gnu::format(printf, 1, 2)]] static str format(const char* format, ...);

  [[nodiscard]] const char* cstr() const noexcept { return text_ ? text_->c_str() : nullptr; }
  operator const char*() const noexcept { return cstr(); }
  [[nodiscard]] std::size_t len() const noexcept { return text_ ? text_->size() : 0; }
  [[nodiscard]] std::string_view view() const noexcept {
    return text_ ? std::string_view(*text_) : std::string_view();
  }
  explicit operator bool() const noexcept { return text_ != nullptr; }
  [[nodiscard]] bool operator!() const noexcept { return text_ == nullptr; }
  [[nodiscard]] char operator[](std::ptrdiff_t i) const noexcept {
    return (*text_)[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] int cmp(const str& other) const noexcept { return view().compare(other.view()); }

  // A null str equals only a null one.
  friend bool operator==(const str& a, const str& b) noexcept {
    return !a == !b && a.view() == b.view();
  }
  friend bool operator==(const str& a, const char* b) noexcept { return a == str(b); }
  friend auto operator<=>(const str& a, const str& b) noexcept { return a.view() <=> b.view(); }

 private:
  void set(std::string_view text) { text_ = std::make_shared<const std::string>(text); }
  std::shared_ptr<const std::string> text_;
};

/// Text of a fixed length that a program fills in, and then makes a str of.
class mstr {
 public:
  explicit mstr(std::size_t n) : text_(n, '\0') {}
  [[nodiscard]] char* cstr() noexcept { return text_.data(); }
  operator char*() noexcept { return text_.data(); }
  operator str() const { return str(text_); }
  [[nodiscard]] std::size_t len() const noexcept { return text_.size(); }
  void setlen(std::size_t n) { text_.resize(n); }

 private:
  std::string text_;
};

template <>
struct std::hash<str> {
  std::size_t operator()(const str& s) const noexcept {
    return std::hash<std::string_view>()(s.view());
  }
};

namespace heddle::libasync {

/// Appends what the format gives.
void append_format(std::string& to, const char* format, std::va_list args);
/// A value as text: numbers in decimal, a bool as 0 or 1, strings as they are.
template <class T>
void append_text(std::string& to, const T& value) {
  if constexpr (std::same_as<T, char>) {
    to += value;
  } else if constexpr (std::same_as<T, str>) {
    to += value.view();
  } else if constexpr (std::convertible_to<const T&, std::string_view>) {
    to += std::string_view(value);
  } else if constexpr (std::same_as<T, bool>) {
    to += value ? '1' : '0';
  } else if constexpr (std::integral<T>) {
    to += std::to_string(value);
  } else if constexpr (requires { libasync_text(value); }) {
    to += libasync_text(value);  // an enum that has texts
  } else if constexpr (std::is_enum_v<T>) {
    to += std::to_string(static_cast<long long>(value));
  } else if constexpr (std::floating_point<T>) {
    char text[64];
    const int n = std::snprintf(text, sizeof text, "%g", static_cast<double>(value));
    to.append(text, static_cast<std::size_t>(n));
  } else {
    static_assert(std::convertible_to<const T&, str>, "<< takes text, numbers and str");
    to += str(value).view();
  }
}

}  // namespace heddle::libasync

/// Bytes on their way from or to a descriptor.
class suio {
 public:
  /// Writes what the descriptor takes. Gives 1 if all was written, 0 if bytes are left (the call
  /// would block), -1 for an error (errno).
  int output(int fd);
  /// Reads once. Gives the number of bytes, 0 at the end, -1 for an error (errno).
  ssize_t input(int fd, std::size_t most = 16384);
  [[nodiscard]] std::size_t resid() const noexcept { return bytes_.size() - begin_; }
  void rembytes(std::size_t n) noexcept;
  /// Copies n bytes from the front, which stay.
  void copyout(void* to, std::size_t n) const noexcept {
    std::memcpy(to, bytes_.data() + begin_, n);
  }
  void copy(const void* from, std::size_t n) { bytes_.append(static_cast<const char*>(from), n); }
  [[nodiscard]] std::string_view view() const noexcept {
    return std::string_view(bytes_).substr(begin_);
  }
  [[nodiscard]] std::string& bytes() noexcept { return bytes_; }

 private:
  std::string bytes_;
  std::size_t begin_ = 0;  ///< bytes before it are gone
};

class strbuf {
 public:
  strbuf() : data_(std::make_shared<suio>()) {}
  [[gnu::format(printf, 2, 3)]] explicit strbuf(const char* format, ...);

  template <class T>
  const strbuf& operator<<(const T& value) const {
    heddle::libasync::append_text(data_->bytes(), value);
    return *this;
  }
  template <std::size_t N>
  const strbuf& operator<<(const char (&text)[N]) const {
    return *this << static_cast<const char*>(text);
  }
  const strbuf& operator<<(const strbuf& other) const {
    data_->bytes() += std::string(other.data_->view());
    return *this;
  }
  const strbuf& operator<<(const char* text) const {
    if (text != nullptr) data_->bytes() += text;
    return *this;
  }
  [[gnu::format(printf, 2, 3)]] const strbuf& fmt(const char* format, ...) const;
  [[nodiscard]] suio* tosuio() const noexcept { return data_.get(); }
  [[nodiscard]] std::size_t len() const noexcept { return data_->resid(); }

 private:
  std::shared_ptr<suio> data_;
};

inline str::str(const strbuf& text) { set(text.tosuio()->view()); }

template <class T>
const strbuf& strbuf_cat(const strbuf& to, const T& value) {
  return to << value;
}
inline std::ostream& operator<<(std::ostream& out, const str& s) { return out << s.view(); }
