// SPDX-License-Identifier: MIT
// Names of topics and handlers that are the same in every build of one source by one compiler, so
// that a profile of one build can speak to the next. A name is what the compiler calls the type or
// the function, without directories; what a translation unit keeps to itself (a lambda, an unnamed
// namespace) gets the unit's file name too. Handlers with equal names are told apart by a number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace heddle::detail {

// Names differ between compilers, and may between their versions: a profile says whose it has.
#define HEDDLE_TEXT_OF(x) HEDDLE_TEXT_OF_EXPANDED(x)
#define HEDDLE_TEXT_OF_EXPANDED(x) #x
#if defined(__clang__)
inline constexpr const char* compiler_name = "clang " HEDDLE_TEXT_OF(__clang_major__);
#else
inline constexpr const char* compiler_name = "gcc " HEDDLE_TEXT_OF(__GNUC__);
#endif
#undef HEDDLE_TEXT_OF
#undef HEDDLE_TEXT_OF_EXPANDED

template <class T>
consteval std::string_view spelled() {
  return __PRETTY_FUNCTION__;
}
template <auto V>
consteval std::string_view spelled() {
  return __PRETTY_FUNCTION__;
}

/// What stands between the compiler's words before and after a template argument.
consteval std::string_view cut(std::string_view text, std::string_view known,
                               std::string_view value) {
  const std::size_t before = known.rfind(value);
  const std::size_t after = known.size() - before - value.size();
  return text.substr(before, text.size() - before - after);
}

/// A text of at most N characters as a constant.
template <std::size_t N>
struct fixed_text {
  char text[N + 1] = {};
  std::size_t len = 0;

  constexpr void add(std::string_view more) {
    for (const char c : more) text[len++] = c;
  }
  [[nodiscard]] constexpr std::string_view view() const { return {text, len}; }
};

consteval std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

/// Clang's closures are named by their path: "(lambda at dir/file.cc:8:3)" loses "dir/".
template <std::size_t N>
consteval fixed_text<N> without_directories(std::string_view name) {
  constexpr std::string_view mark = " at ";
  fixed_text<N> out;
  while (!name.empty()) {
    const std::size_t at = name.find(mark);
    if (at == name.npos) break;
    out.add(name.substr(0, at + mark.size()));
    name.remove_prefix(at + mark.size());
    const std::size_t end = name.find(')');
    const std::string_view place = name.substr(0, end);
    out.add(base_name(place));
    name.remove_prefix(place.size());
  }
  out.add(name);
  return out;
}

/// Whether equal names in two translation units may mean two things.
consteval bool local_to_unit(std::string_view name) {
  return name.find("lambda") != name.npos || name.find("anonymous") != name.npos ||
         name.find("unnamed") != name.npos;
}

template <std::size_t N>
consteval auto finished_name(std::string_view name, std::string_view unit) {
  fixed_text<N + 64> out = without_directories<N + 64>(name);
  if (local_to_unit(out.view())) {
    out.add(" in ");
    out.add(base_name(unit).substr(0, 60));
  }
  return out;
}

/// FNV-1a, 64 bits.
consteval std::uint64_t hash_of(std::string_view text, std::uint64_t from = 0xcbf29ce484222325u) {
  for (const char c : text) from = (from ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return from;
}

template <class T>
inline constexpr auto type_name = [] {
  constexpr std::string_view text = cut(spelled<T>(), spelled<int>(), "int");
  return finished_name<text.size()>(text, __BASE_FILE__);
}();

template <auto V>
inline constexpr auto value_name = [] {
  constexpr std::string_view text = cut(spelled<V>(), spelled<77>(), "77");
  return finished_name<text.size()>(text, __BASE_FILE__);
}();

template <class T>
inline constexpr std::uint64_t type_hash = hash_of(type_name<T>.view());

// Compilers print some different handlers alike (two lambdas of a function; member templates). The
// first of a hash in a translation unit gets number 0, the next 1: each claims its number by
// defining a friend function, which the next one sees.
template <std::uint64_t Hash, int Number>
struct number_slot {
#if !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-template-friend"
#endif
  friend consteval auto heddle_claimed(number_slot);
#if !defined(__clang__)
#pragma GCC diagnostic pop
#endif
};
template <class Who>
struct claimant {};
template <std::uint64_t Hash, int Number, class Who>
struct claim {
  friend consteval auto heddle_claimed(number_slot<Hash, Number>) { return claimant<Who>{}; }
};

template <std::uint64_t Hash, class Who, int Number = 0>
consteval int occurrence() {
  if constexpr (requires { heddle_claimed(number_slot<Hash, Number>{}); }) {
    if constexpr (std::is_same_v<decltype(heddle_claimed(number_slot<Hash, Number>{})),
                                 claimant<Who>>) {
      return Number;
    } else {
      return occurrence<Hash, Who, Number + 1>();
    }
  } else {
    static_cast<void>(sizeof(claim<Hash, Number, Who>));
    return Number;
  }
}

}  // namespace heddle::detail
