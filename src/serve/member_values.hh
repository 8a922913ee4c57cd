// SPDX-License-Identifier: MIT
// Values of settings that are members of the options. The path of a member is a list of pointers
// to members:
//
//   time_at<&serve_options::server, &http::server_options::idle_timeout>
//
// A row of a table names it once: the setting sets the member, and the help shows its default.
#pragma once

#include <chrono>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "serve/setting.hh"
#include "serve/values.hh"

namespace heddle::serve {
namespace detail {

template <auto... Path>
constexpr auto& member(auto& o) {
  return (o.*....*Path);
}
template <auto... Path>
using member_type =
    std::remove_reference_t<decltype(member<Path...>(std::declval<serve_options&>()))>;

/// Sets a member to a number that its type can hold.
template <auto... Path>
void set_number(serve_options& o, std::uint64_t value) {
  member<Path...>(o) = static_cast<member_type<Path...>>(value);
}
template <auto... Path>
constexpr std::uint64_t most_at() noexcept {
  return std::numeric_limits<member_type<Path...>>::max();
}

}  // namespace detail

/// A size from Least to Most.
template <std::uint64_t Least, std::uint64_t Most, auto... Path>
constexpr setting_value size_in{
    [](serve_options& o, std::string_view v) {
      static_assert(Most <= detail::most_at<Path...>());
      detail::set_number<Path...>(o, size_within(v, Least, Most));
    },
    [](const serve_options& o) { return size_text(detail::member<Path...>(o)); },
    setting_kind::once, "SIZE"};

/// Any size.
template <auto... Path>
constexpr setting_value size_at = size_in<0, detail::most_at<Path...>(), Path...>;

/// A number from Least to Most.
template <std::uint64_t Least, std::uint64_t Most, auto... Path>
constexpr setting_value count_in{
    [](serve_options& o, std::string_view v) {
      static_assert(Most <= detail::most_at<Path...>());
      detail::set_number<Path...>(o, number_within(v, "number", Least, Most));
    },
    [](const serve_options& o) { return std::to_string(detail::member<Path...>(o)); },
    setting_kind::once, "COUNT"};

/// Any number.
template <auto... Path>
constexpr setting_value count_at = count_in<0, detail::most_at<Path...>(), Path...>;

/// A span of time; a member in seconds gets it rounded up.
template <auto... Path>
constexpr setting_value time_at{
    [](serve_options& o, std::string_view v) {
      detail::member<Path...>(o) = std::chrono::ceil<detail::member_type<Path...>>(time_of(v));
    },
    [](const serve_options& o) { return time_text(detail::member<Path...>(o)); },
    setting_kind::once, "TIME"};

/// A span of time that is not zero.
template <auto... Path>
constexpr setting_value span_at{
    [](serve_options& o, std::string_view v) { detail::member<Path...>(o) = span_of(v); },
    time_at<Path...>.show, setting_kind::once, "TIME"};

/// A switch that is the member, or its opposite.
template <auto... Path>
constexpr setting_value switch_at{
    [](serve_options& o, std::string_view v) { detail::member<Path...>(o) = truth_of(v); }, nullptr,
    setting_kind::on_off};
template <auto... Path>
constexpr setting_value opposite_at{
    [](serve_options& o, std::string_view v) { detail::member<Path...>(o) = !truth_of(v); },
    nullptr, setting_kind::on_off};

/// Any text.
template <auto... Path>
constexpr setting_value text_at{
    [](serve_options& o, std::string_view v) { detail::member<Path...>(o) = v; },
    [](const serve_options& o) { return std::string(detail::member<Path...>(o)); }};

/// A port.
template <auto... Path>
constexpr setting_value port_at{
    [](serve_options& o, std::string_view v) { detail::member<Path...>(o) = port_of(v); }, nullptr,
    setting_kind::once, "PORT"};

// Values that need more than a member: one value, one each time, or two each time.
using setter = void (*)(serve_options&, std::string_view);
using shower = std::string (*)(const serve_options&);
consteval setting_value one(std::string_view value_name, setter set, shower show = nullptr) {
  return {set, show, setting_kind::once, value_name};
}
consteval setting_value each(std::string_view value_name, setter add) {
  return {add, nullptr, setting_kind::repeated, value_name};
}
consteval setting_value two(std::string_view value_name, setter add) {
  return {add, nullptr, setting_kind::pairs, value_name};
}
/// A value whose name in the help is not its own.
consteval setting_value named(std::string_view value_name, setting_value same) {
  same.name = value_name;
  return same;
}

/// The words that a setting takes, with their meanings. `kind` names them in the error message.
template <class Meaning, std::size_t Count>
struct word_list {
  std::string_view kind;
  std::pair<std::string_view, Meaning> all[Count];
};

/// One of the words of a list with static storage duration.
template <const auto& Words, auto... Path>
constexpr setting_value word_at{
    [](serve_options& o, std::string_view v) {
      std::string known;
      for (std::size_t i = 0; i != std::size(Words.all); ++i) {
        const auto& [word, meaning] = Words.all[i];
        if (word == v) {
          detail::member<Path...>(o) = meaning;
          return;
        }
        known += i == 0 ? "" : i + 1 == std::size(Words.all) ? " or " : ", ";
        known += word;
      }
      throw bad_setting("'" + std::string(v) + "' is no " + std::string(Words.kind) + "; write " +
                        known);
    },
    [](const serve_options& o) {
      for (const auto& [word, meaning] : Words.all)
        if (detail::member<Path...>(o) == meaning) return std::string(word);
      return std::string();
    }};

}  // namespace heddle::serve
