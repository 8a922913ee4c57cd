/* SPDX-License-Identifier: MIT
 * libasync's types for XDR (RFC 4506): strings, opaque bytes, lists, optional values and unions,
 * with their bounds in the type. `heddle rpcgen --libasync` writes structs of them. A value longer
 * than its bound is refused when it is sent or received. Thread: one color.
 */
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "async.h"
#include "heddle/xdr/reader.hh"
#include "heddle/xdr/writer.hh"

/// The bound of a type without one.
inline constexpr std::uint32_t RPC_INFINITY = heddle::xdr::no_bound;

namespace heddle::libasync {

/// The base of types that know how an archive visits them, by visit(archive, value).
struct visits_itself {};

}  // namespace heddle::libasync
template <class A, class V>
  requires std::derived_from<V, heddle::libasync::visits_itself>
bool describe(A& a, V& v) {
  return std::remove_const_t<V>::visit(a, v);
}

/// `string<Max>`. It begins as the empty text, not as a null str.
template <std::uint32_t Max = RPC_INFINITY>
class rpc_str : public str, public heddle::libasync::visits_itself {
 public:
  static constexpr std::uint32_t maxsize = Max;
  rpc_str() : str("") {}
  rpc_str(const char* text, std::size_t n) : str(text, n) {}
  template <class Text>
    requires(std::convertible_to<const Text&, str> && !std::same_as<Text, rpc_str>)
  rpc_str(const Text& text) : str(static_cast<str>(text)) {}
  template <class A, class V>
  static bool visit(A& a, V& v) {
    std::string text(v.view());
    if (!a.characters(text, Max)) return false;
    if constexpr (!std::is_const_v<V>) v = rpc_str(text);
    return true;
  }
};

/// `T name<Max>`.
template <class T, std::uint32_t Max = RPC_INFINITY>
class rpc_vec : public std::vector<T>, public heddle::libasync::visits_itself {
  static_assert(!std::same_as<T, bool>, "libasync: rpc_vec<bool> has no base(); use an int");

 public:
  using elm_t = T;
  static constexpr std::uint32_t maxsize = Max;
  using std::vector<T>::vector;
  [[nodiscard]] T* base() noexcept { return this->data(); }
  [[nodiscard]] const T* base() const noexcept { return this->data(); }
  void setsize(std::size_t n) { this->resize(n); }
  /// Appends a value, or an element that is made of nothing, and gives it.
  T& push_back() { return this->emplace_back(); }
  T& push_back(T value) { return this->emplace_back(std::move(value)); }
  T pop_back() {
    T last = std::move(this->back());
    std::vector<T>::pop_back();
    return last;
  }
  template <class A, class V>
  static bool visit(A& a, V& v) {
    using plain = std::conditional_t<std::is_const_v<V>, const std::vector<T>, std::vector<T>>;
    return a.sequence(static_cast<plain&>(v), Max);
  }
};

/// `opaque name<Max>`: bytes in memory of their own.
template <std::uint32_t Max = RPC_INFINITY>
class rpc_bytes : public heddle::libasync::visits_itself {
 public:
  static constexpr std::uint32_t maxsize = Max;
  rpc_bytes() = default;
  rpc_bytes(const str& text) : bytes_(text.view()) {}
  [[nodiscard]] char* base() noexcept { return bytes_.data(); }
  [[nodiscard]] const char* base() const noexcept { return bytes_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  void setsize(std::size_t n) { bytes_.resize(n); }
  void clear() noexcept { bytes_.clear(); }
  [[nodiscard]] char& operator[](std::size_t i) noexcept { return bytes_[i]; }
  [[nodiscard]] char operator[](std::size_t i) const noexcept { return bytes_[i]; }
  friend bool operator==(const rpc_bytes& a, const rpc_bytes& b) noexcept {
    return a.bytes_ == b.bytes_;
  }
  template <class A, class V>
  static bool visit(A& a, V& v) {
    return a.counted_bytes(v.bytes_, Max);
  }

 private:
  std::string bytes_;
};

/// `opaque name[N]`.
template <std::size_t N>
class rpc_opaque : public std::array<char, N>, public heddle::libasync::visits_itself {
 public:
  rpc_opaque() noexcept { this->fill(0); }
  [[nodiscard]] char* base() noexcept { return this->data(); }
  [[nodiscard]] const char* base() const noexcept { return this->data(); }
  template <class A, class V>
  static bool visit(A& a, V& v) {
    using byte = std::conditional_t<std::is_const_v<V>, const std::byte, std::byte>;
    return a.fixed_bytes(reinterpret_cast<byte*>(v.base()), N);
  }
};

/// `T *name`: one T or none. A copy copies the T. A list of T is read and freed in a loop; a copy
/// of one recurses.
template <class T>
class rpc_ptr : public heddle::libasync::visits_itself {
 public:
  rpc_ptr() noexcept = default;
  rpc_ptr(rpc_ptr&& other) noexcept = default;
  rpc_ptr(const rpc_ptr& other) {
    if (other) alloc() = *other;
  }
  rpc_ptr& operator=(rpc_ptr other) noexcept {
    held_ = std::move(other.held_);
    return *this;
  }
  /// Makes a T, in place of one that is there.
  T& alloc() { return held_.emplace(); }
  void clear() noexcept { held_.reset(); }
  [[nodiscard]] T* get() const noexcept { return held_.get(); }
  operator T*() const noexcept { return held_.get(); }
  T* operator->() const noexcept { return held_.get(); }
  T& operator*() const noexcept { return *held_; }
  [[nodiscard]] heddle::xdr::link<T>& beneath() noexcept { return held_; }
  template <class A, class V>
  static bool visit(A& a, V& v) {
    return a.linked(v.held_);
  }

 private:
  heddle::xdr::link<T> held_;
};

/// An arm of a union. It has a value while the discriminant is one of the arm's.
template <class T>
class union_entry {
 public:
  union_entry() noexcept = default;
  union_entry(const union_entry& other)
      : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
  union_entry(union_entry&&) noexcept = default;
  union_entry& operator=(union_entry other) noexcept {
    value_ = std::move(other.value_);
    return *this;
  }
  void select(bool on) { value_ = on ? std::make_unique<T>() : nullptr; }
  [[nodiscard]] T* addr() const noexcept { return value_.get(); }
  operator T*() const noexcept { return value_.get(); }
  T* operator->() const noexcept { return value_.get(); }
  T& operator*() const noexcept { return *value_; }

 private:
  std::unique_ptr<T> value_;
};

namespace heddle::libasync {

template <std::size_t>
using void_arm = std::monostate;
template <class>
struct void_arms;
template <std::size_t... I>
struct void_arms<std::index_sequence<I...>> {
  using type = std::variant<void_arm<I>...>;
};

/// Visits the discriminant of a union with `Arms` arms, and gives the number of its arm, or Arms if
/// the archive refuses it.
template <std::size_t Arms, class A, class V, class Tag>
std::size_t describe_tag(A& a, const char* name, V& v, Tag& tag) {
  typename void_arms<std::make_index_sequence<Arms>>::type which;
  if constexpr (std::is_const_v<V>) xdr::set_arm(which, V::arm_of(tag), tag);
  if (!a.choice(name, tag, which, &std::remove_const_t<V>::arm_of)) return Arms;
  if constexpr (!std::is_const_v<V>) v.select(which.index());
  return which.index();
}
/// Visits the value of an arm.
template <class A, class T>
bool describe_arm(A& a, const char* name, const union_entry<T>& arm) {
  if (arm.addr() == nullptr)
    throw std::invalid_argument(std::string("the discriminant was assigned without its setter, so "
                                            "the arm has no value: ") +
                                name);
  return a(name, *arm);
}

}  // namespace heddle::libasync
