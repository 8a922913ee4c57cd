// SPDX-License-Identifier: MIT
// The C++ types of XDR (RFC 4506): texts, opaque bytes and lists with their bounds in the type, and
// links for types that contain themselves. A struct takes part by a description, one function that
// names its fields; readers, writers, printers and generators are built on it. `heddle rpcgen`
// writes structs and descriptions from .x files; by hand they look like this:
//
//   struct point { std::int32_t x = 0; std::int32_t y = 0; };
//   template <class A, xdr::form_of<point> V>
//   bool describe(A& a, V& v) { return a("x", v.x) && a("y", v.y); }
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "heddle/base/language.hh"
#include "heddle/io/chain.hh"

namespace heddle::xdr {

/// The bound of a text, list or opaque without one: the longest that XDR can carry.
inline constexpr std::uint32_t no_bound = 0xffff'ffff;

/// Whether V is T or const T: the parameter of a description, which readers call with T and writers
/// with const T.
template <class V, class T>
concept form_of = std::same_as<std::remove_const_t<V>, T>;

/// `string<Max>`: at most Max bytes, of any value. Longer texts are refused when they are read or
/// written.
template <std::uint32_t Max = no_bound>
struct text : std::string {
  static constexpr std::uint32_t bound = Max;
  using std::string::string;
  text() = default;
  text(std::string s) : std::string(std::move(s)) {}
};

/// `opaque<Max>` with a bound of at most 1,024: bytes in memory of their own, which can be copied
/// and compared. Handles and verifiers are kept for long, and must not hold a received block.
template <std::uint32_t Max>
struct bytes : std::string {
  static constexpr std::uint32_t bound = Max;
  using std::string::string;
  bytes() = default;
  bytes(std::string s) : std::string(std::move(s)) {}
};

/// Other `opaque<Max>`: a chain, whose pieces stay where they were received, and are sent from
/// where they are. It cannot be copied.
template <std::uint32_t Max = no_bound>
struct opaque : chain {
  static constexpr std::uint32_t bound = Max;
  using chain::chain;
  opaque() = default;
  opaque(chain&& c) noexcept : chain(std::move(c)) {}
  /// Whether both have the same bytes; copies them.
  friend bool operator==(const opaque& a, const opaque& b) {
    return a.size() == b.size() && a.to_string() == b.to_string();
  }
};

/// `T name<Max>`: at most Max values.
template <class T, std::uint32_t Max = no_bound>
struct list : std::vector<T> {
  static constexpr std::uint32_t bound = Max;
  using std::vector<T>::vector;
  list() = default;
  list(std::vector<T> v) : std::vector<T>(std::move(v)) {}
};

template <class T>
class link;

/// Whether the last field of T is a link to the next T, as in a linked list. Its description then
/// comes with tail_of(), which gives that field.
template <class T>
concept has_tail = requires(T& v) {
  { tail_of(v) } -> std::same_as<link<T>&>;
};

/// `T* name` where T contains itself: one T or none. A list of any length ends in a loop, not by
/// recursion.
///
/// Thread: as std::unique_ptr. Owns: its T, and through it the rest of the list.
///
///   for (const entry* e = first.get(); e != nullptr; e = e->next.get()) use(*e);
template <class T>
class link {
 public:
  link() noexcept = default;
  link(link&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}
  link& operator=(link&& other) noexcept {
    if (this != &other) {
      reset();
      held_ = std::exchange(other.held_, nullptr);
    }
    return *this;
  }
  ~link() { reset(); }

  /// Makes a T; an old one is destroyed.
  T& emplace() {
    reset();
    held_ = new T();
    return *held_;
  }
  void reset() noexcept {
    T* at = std::exchange(held_, nullptr);
    while (at != nullptr) {
      T* next = nullptr;
      if constexpr (has_tail<T>) next = std::exchange(tail_of(*at).held_, nullptr);
      delete at;
      at = next;
    }
  }

  [[nodiscard]] explicit operator bool() const noexcept { return held_ != nullptr; }
  [[nodiscard]] T* get() const noexcept { return held_; }
  [[nodiscard]] T& operator*() const noexcept { return *held_; }
  [[nodiscard]] T* operator->() const noexcept { return held_; }

 private:
  T* held_ = nullptr;
};

/// Appends to a linked list in constant time: it keeps the place of the list's last link.
///
///   list_builder<entry> entries(result.first);
///   entries.append().name = "a";
template <class T>
class list_builder {
 public:
  explicit list_builder(link<T>& first) noexcept : end_(&first) {}
  /// A new last element. A reference to it stays valid as long as the list.
  T& append() {
    T& made = end_->emplace();
    end_ = &tail_of(made);
    return made;
  }

 private:
  link<T>* end_;
};

/// A value of an enum and its name. Each enum has a function values_of(E), found through its
/// namespace, that gives them sorted by value.
struct named_value {
  std::int32_t value;
  const char* name;
};

/// The name of an enum's value, or nullptr if the enum does not list it.
template <class E>
  requires std::is_enum_v<E>
[[nodiscard]] constexpr const char* name_of(E value) noexcept {
  const std::span<const named_value> all = values_of(value);
  std::size_t from = 0;
  std::size_t end = all.size();
  while (from < end) {
    const std::size_t middle = from + (end - from) / 2;
    if (all[middle].value < static_cast<std::int32_t>(value))
      from = middle + 1;
    else
      end = middle;
  }
  if (from == all.size() || all[from].value != static_cast<std::int32_t>(value)) return nullptr;
  return all[from].name;
}

// A union is a struct of its discriminant, a variant `body` with one alternative for each arm
// (std::monostate for void), and a function arm_of() from discriminants to alternatives.

/// The result of arm_of() for a discriminant that has no arm.
inline constexpr std::size_t no_arm = ~std::size_t{0};

namespace detail {
[[noreturn]] void refuse_discriminant(std::int64_t value);
}

/// Gives a union's variant a new value of the alternative `arm`. Throws std::invalid_argument for
/// no_arm, naming the discriminant.
template <class... Ts, class D>
void set_arm(std::variant<Ts...>& body, std::size_t arm, D discriminant) {
  if (arm == no_arm) detail::refuse_discriminant(static_cast<std::int64_t>(discriminant));
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    static_cast<void>(((arm == I && (body.template emplace<I>(), true)) || ...));
  }(std::index_sequence_for<Ts...>());
}

}  // namespace heddle::xdr
