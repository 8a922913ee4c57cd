// SPDX-License-Identifier: MIT
// Arguments that name bytes: where to put them (byte_span) and which to send (byte_view). They
// accept the usual types: arrays and vectors of char, unsigned char or std::byte, strings,
// spans, literals. They own nothing.
#pragma once

#include <concepts>
#include <cstddef>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>

namespace heddle {

template <class T>
concept byte_like =
    std::same_as<std::remove_cv_t<T>, char> || std::same_as<std::remove_cv_t<T>, unsigned char> ||
    std::same_as<std::remove_cv_t<T>, std::byte>;

template <class R>
concept byte_range = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                     byte_like<std::ranges::range_value_t<R>>;

/// Room for bytes in memory of the caller. It must stay until the operation that fills it has
/// ended.
struct byte_span : std::span<std::byte> {
  constexpr byte_span() noexcept = default;
  byte_span(void* at, std::size_t count) noexcept : span(static_cast<std::byte*>(at), count) {}
  template <byte_range R>
    requires(std::ranges::borrowed_range<R> && !std::same_as<std::remove_cvref_t<R>, byte_span> &&
             !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>)
  byte_span(R&& range) noexcept
      : span(reinterpret_cast<std::byte*>(std::ranges::data(range)), std::ranges::size(range)) {}
};

/// Bytes to read that others own. A literal counts without its final zero; a writable array of
/// char is refused, because it could mean the whole array or the text in it: pass a span or a
/// string_view.
struct byte_view : std::span<const std::byte> {
  constexpr byte_view() noexcept = default;
  byte_view(const void* at, std::size_t count) noexcept
      : span(static_cast<const std::byte*>(at), count) {}
  byte_view(const char* text) noexcept : byte_view(std::string_view(text)) {}
  byte_view(std::string_view text) noexcept : byte_view(text.data(), text.size()) {}
  template <std::size_t N>
  byte_view(char (&array)[N]) = delete;
  template <byte_range R>
    requires(!std::same_as<std::remove_cvref_t<R>, byte_view> &&
             !std::same_as<std::remove_cvref_t<R>, std::string_view> &&
             !std::is_array_v<std::remove_cvref_t<R>>)
  byte_view(R&& range) noexcept : byte_view(std::ranges::data(range), std::ranges::size(range)) {}

  [[nodiscard]] std::string_view text() const noexcept {
    return {reinterpret_cast<const char*>(data()), size()};
  }
};

/// Two to sixteen texts that go out one after another. (Not an initializer_list: GCC 12 cannot make
/// one inside a co_await expression.)
class text_list {
 public:
  static constexpr std::size_t max = 16;  // the most that a write hands over in one system call

  template <class... Texts>
    requires(sizeof...(Texts) >= 2 && sizeof...(Texts) <= max &&
             (std::convertible_to<const Texts&, std::string_view> && ...))
  text_list(const Texts&... texts) noexcept
      : texts_{std::string_view(texts)...}, count_(sizeof...(Texts)) {}

  [[nodiscard]] const std::string_view* begin() const noexcept { return texts_; }
  [[nodiscard]] const std::string_view* end() const noexcept { return texts_ + count_; }

 private:
  std::string_view texts_[max];
  std::size_t count_;
};

}  // namespace heddle
