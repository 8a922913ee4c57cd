// SPDX-License-Identifier: MIT
// Converts text to typed values: query_value<int>("page") gives an int or throws a 400. A program
// adds its own types with a specialization of text_value.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::http {

/// How a T is written in a path, a query, a header or a form.
///
///   template <> struct heddle::http::text_value<level> {
///     static constexpr std::string_view kind = "one of low, high";
///     static std::optional<level> read(std::string_view text);
///   };
template <class T>
struct text_value;

template <class T>
concept readable_text = requires(std::string_view text) {
  { text_value<T>::read(text) } -> std::same_as<std::optional<T>>;
};

/// Decimal digits, with an optional minus sign for signed types, and no other characters.
template <std::integral T>
struct text_value<T> {
  static constexpr std::string_view kind = "a whole number";
  [[nodiscard]] static std::optional<T> read(std::string_view text) noexcept {
    T number{};
    const auto got = std::from_chars(text.data(), text.data() + text.size(), number);
    if (got.ec != std::errc{} || got.ptr != text.data() + text.size()) return std::nullopt;
    return number;
  }
};

template <std::floating_point T>
struct text_value<T> {
  static constexpr std::string_view kind = "a number";
  [[nodiscard]] static std::optional<T> read(std::string_view text) noexcept {
    T number{};
    const auto got = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = got.ec == std::errc{} && got.ptr == text.data() + text.size();
    // from_chars accepts "inf" and "nan"; no client means them.
    if (!whole || number - number != T{}) return std::nullopt;
    return number;
  }
};

template <>
struct text_value<bool> {
  static constexpr std::string_view kind = "true or false";
  [[nodiscard]] static std::optional<bool> read(std::string_view text) noexcept {
    if (text == "true" || text == "1" || text == "on" || text == "yes") return true;
    if (text == "false" || text == "0" || text == "off" || text == "no") return false;
    return std::nullopt;
  }
};

template <>
struct text_value<std::string> {
  static constexpr std::string_view kind = "text";
  [[nodiscard]] static std::optional<std::string> read(std::string_view text) {
    return std::string(text);
  }
};

template <>
struct text_value<std::string_view> {
  static constexpr std::string_view kind = "text";
  [[nodiscard]] static std::optional<std::string_view> read(std::string_view text) noexcept {
    return text;
  }
};

/// Throws status_error(400): "the query parameter page is not a whole number".
[[noreturn, gnu::cold]] void throw_bad_value(std::string_view where, std::string_view name,
                                             std::string_view kind);

/// Reads a T from `text`, or throws a status_error of 400 that tells the expected form.
template <readable_text T>
[[nodiscard]] T read_text(std::string_view text, std::string_view where, std::string_view name) {
  std::optional<T> value = text_value<T>::read(text);
  if (!value) throw_bad_value(where, name, text_value<T>::kind);
  return *std::move(value);
}

}  // namespace heddle::http
