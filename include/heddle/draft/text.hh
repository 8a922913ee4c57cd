// SPDX-License-Identifier: MIT
// Bytes in a program that came from Draft: text<N> holds up to N of them in place, bytes is a
// counted piece that does not change, and a std::string_view (Draft's view) looks into either.
// print() writes values as text to standard output.
//
//   draft::bytes name(draft::trim(line));
//   draft::print("hello ", name, ", ", draft::len(name), " bytes");
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/draft.h"
#include "heddle/draft/number.hh"

namespace heddle::from_draft {

/// Up to N bytes in place: a length, then N chars, as C sees it.
template <std::size_t N>
struct text {
  std::uint32_t count = 0;
  char data[N] = {};

  text() noexcept = default;
  /// Throws error.full if it does not fit.
  explicit text(std::string_view from) { append(from); }
  template <std::size_t M>
    requires(M <= N + 1)
  text(const char (&literal)[M]) : text(std::string_view(literal, M - 1)) {}

  operator std::string_view() const noexcept { return {data, count}; }
  void append(std::string_view more) {
    if (more.size() > N - count) throw error("full");
    if (!more.empty()) std::memmove(data + count, more.data(), more.size());
    count += static_cast<std::uint32_t>(more.size());
  }
  void clear() noexcept { count = 0; }
  friend bool operator==(const text& a, std::string_view b) noexcept {
    return std::string_view(a) == b;
  }
};

/// Thread: any; copies share the bytes, which do not change.
class bytes {
 public:
  bytes() noexcept = default;
  bytes(const char* literal) : bytes(std::string_view(literal)) {}
  explicit bytes(std::string_view from) {
    if (!from.empty()) held_ = std::make_shared<const std::string>(from);
  }
  operator std::string_view() const noexcept {
    return held_ == nullptr ? std::string_view() : std::string_view(*held_);
  }
  friend bool operator==(const bytes& a, std::string_view b) noexcept {
    return std::string_view(a) == b;
  }

 private:
  std::shared_ptr<const std::string> held_;
};

/// The bytes as C gets them.
[[nodiscard]] inline heddle_view to_c(std::string_view v) noexcept { return {v.data(), v.size()}; }
[[nodiscard]] inline std::int64_t len(std::string_view v) noexcept {
  return static_cast<std::int64_t>(v.size());
}
/// Where `what` first appears.
[[nodiscard]] inline std::optional<std::int64_t> find(std::string_view v,
                                                      std::string_view what) noexcept {
  const std::size_t at = v.find(what);
  if (at == std::string_view::npos) return std::nullopt;
  return static_cast<std::int64_t>(at);
}
/// Without spaces and line ends around it.
[[nodiscard]] inline std::string_view trim(std::string_view v) noexcept {
  const heddle_view inner = heddle_view_trim(to_c(v));
  return {inner.data, inner.len};
}
/// The decimal number that it is; throws error.syntax.
[[nodiscard]] inline std::int64_t to_int(std::string_view v) {
  std::int64_t n = 0;
  if (heddle_view_to_int(to_c(v), &n) != 0) throw error("syntax");
  return n;
}
/// v[from..to] of Draft.
[[nodiscard]] inline std::string_view part(
    std::string_view v, std::int64_t from, std::int64_t to,
    std::source_location where = std::source_location::current()) {
  if (from < 0 || to < from || to > len(v)) fail_with(detail::bounds, where);
  return v.substr(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from));
}
/// v[from..]
[[nodiscard]] inline std::string_view part(
    std::string_view v, std::int64_t from,
    std::source_location where = std::source_location::current()) {
  return part(v, from, len(v), where);
}
/// v[i]
[[nodiscard]] inline std::uint8_t at(std::string_view v, std::int64_t i,
                                     std::source_location where = std::source_location::current()) {
  if (i < 0 || i >= len(v)) fail_with(detail::bounds, where);
  return static_cast<std::uint8_t>(v[static_cast<std::size_t>(i)]);
}
template <class T, std::size_t N>
[[nodiscard]] T& at(std::array<T, N>& list, std::int64_t i,
                    std::source_location where = std::source_location::current()) {
  if (i < 0 || i >= static_cast<std::int64_t>(N)) fail_with(detail::bounds, where);
  return list[static_cast<std::size_t>(i)];
}
template <class T, std::size_t N>
[[nodiscard]] const T& at(const std::array<T, N>& list, std::int64_t i,
                          std::source_location where = std::source_location::current()) {
  if (i < 0 || i >= static_cast<std::int64_t>(N)) fail_with(detail::bounds, where);
  return list[static_cast<std::size_t>(i)];
}

// How print() and buffer::put() write a value.
inline void write_to(std::string& out, std::string_view v) { out += v; }
inline void write_to(std::string& out, const error& e) { out += e.name(); }
inline void write_to(std::string& out, nanoseconds span) {
  out += std::to_string(span.count()) + "ns";
}
template <std::integral T>
void write_to(std::string& out, T n) {
  if constexpr (std::same_as<T, bool>)
    out += n ? "true" : "false";
  else
    out += std::to_string(n);
}
template <class T>
  requires std::is_enum_v<T>
void write_to(std::string& out, T value) {
  out += std::to_string(static_cast<std::underlying_type_t<T>>(value));
}

/// One line on standard output. Thread: any.
template <class... Parts>
void print(const Parts&... parts) {
  std::string line;
  (write_to(line, parts), ...);
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

}  // namespace heddle::from_draft
