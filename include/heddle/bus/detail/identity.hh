// SPDX-License-Identifier: MIT
// Names of topics and handlers that are equal in all builds of the same source by one compiler, so
// that a profile of one build fits the next. A name is the compiler's text for the type or
// function, without directories. For an entity local to a translation unit (a lambda, an unnamed
// namespace) the name includes the unit's file. A number distinguishes handlers with equal names.
//
// In a precompiled header the compiler does not know the unit. There Clang uses the file that binds
// a function; all other names contain the precompiled header's file, and `heddle optimize` does not
// merge their handlers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace heddle::detail {

// Names differ between compilers, and may differ between versions; a profile records its compiler.
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

/// The part of the compiler's text between the words before and after a template argument.
consteval std::string_view cut(std::string_view text, std::string_view known,
                               std::string_view value) {
  const std::size_t before = known.rfind(value);
  const std::size_t after = known.size() - before - value.size();
  return text.substr(before, text.size() - before - after);
}

/// A constant text of at most N characters.
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

/// Clang names closures by their path: "(lambda at dir/file.cc:8:3)" loses "dir/".
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

/// Whether the file that the compiler takes for the unit is a header, which is then precompiled.
consteval bool is_header(std::string_view file) {
  if (file.find("pch") != file.npos) return true;
  for (const std::string_view end : {".h", ".hh", ".hpp", ".hxx", ".h++", ".H"})
    if (file.ends_with(end)) return true;
  return false;
}
inline constexpr bool unit_known = !is_header(base_name(__BASE_FILE__));

/// The file that binds a function if the unit is not known; else empty.
struct binding_file {
  char text[61] = {};

  constexpr binding_file() = default;
  consteval explicit binding_file(const char* path) {
    if (unit_known) return;
    const std::string_view name = base_name(path).substr(0, sizeof text - 1);
    for (std::size_t i = 0; i < name.size(); ++i) text[i] = name[i];
  }
};

// The type of `&function` in bind<T, &function>(). A defaulted argument records the line of the
// call, which here is a conversion in the program's own text. GCC 12 does not accept a function of
// an unnamed namespace inside an object as a template argument.
#if defined(__clang__)
template <class Pointer>
struct bind_target {
  Pointer pointer;
  binding_file file;
  consteval bind_target(Pointer p, const char* path = __builtin_FILE()) : pointer(p), file(path) {}
};
template <class Pointer>
bind_target(Pointer) -> bind_target<Pointer>;
#define HEDDLE_BIND_TARGET ::heddle::detail::bind_target
template <class Pointer>
consteval Pointer pointer_of(const bind_target<Pointer>& target) {
  return target.pointer;
}
template <class Pointer>
consteval binding_file file_of(const bind_target<Pointer>& target) {
  return target.file;
}
#else
#define HEDDLE_BIND_TARGET auto
template <class Pointer>
consteval Pointer pointer_of(Pointer target) {
  return target;
}
template <class Pointer>
consteval binding_file file_of(Pointer) {
  return {};
}
#endif

/// Whether equal names in two translation units may mean different things.
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

template <auto V, binding_file File = binding_file()>
inline constexpr auto value_name = [] {
  constexpr std::string_view text = cut(spelled<V>(), spelled<77>(), "77");
  return finished_name<text.size()>(text, *File.text == '\0' ? __BASE_FILE__ : File.text);
}();

/// The file, for a function local to its unit; other functions are the same wherever they are
/// bound.
template <auto V, binding_file File>
inline constexpr binding_file file_if_local = local_to_unit(spelled<V>()) ? File : binding_file();

template <class T>
inline constexpr std::uint64_t type_hash = hash_of(type_name<T>.view());

// Compilers print some different handlers alike (two lambdas of a function; member templates).
// Within a translation unit, the first handler of a hash gets number 0, the next one 1. Each claims
// its number by defining a friend function, which the next one detects.
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
