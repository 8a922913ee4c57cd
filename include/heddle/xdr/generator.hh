// SPDX-License-Identifier: MIT
// Random values of described types, for tests and fuzzers: the same seed gives the same value. Each
// value is valid, so writing it succeeds and reading it gives it again.
//
//   const auto args = xdr::generate<LOOKUP3args>(seed);
#pragma once

#include <algorithm>
#include <bit>

#include "heddle/xdr/detail/visit.hh"

namespace heddle::xdr {

/// Limits of generated values.
struct generator_limits {
  std::uint32_t length_max = 40;   ///< length of one text, opaque or list
  std::uint32_t values_max = 200;  ///< elements of lists, options and links in all
  std::uint32_t nesting_max = 8;
};

/// Thread: one. Fails: throws std::bad_alloc only.
class generator {
 public:
  explicit generator(std::uint64_t seed, generator_limits limits = {}) noexcept
      : state_(seed), limits_(limits) {}

  template <class T>
  [[nodiscard]] T make() {
    T value{};
    static_cast<void>(detail::visit(*this, value));
    return value;
  }
  /// A number below `end`, which is not 0.
  std::uint64_t below(std::uint64_t end) noexcept { return next() % end; }

  // Descriptions and detail::visit() call the rest.

  template <class V>
  bool operator()(const char*, V& value) {
    return detail::visit(*this, value);
  }
  template <class D, class Variant, class ArmOf>
  bool choice(const char*, D& discriminant, Variant& body, ArmOf arm_of) {
    const D valid = discriminant;
    for (int tries = 0; tries != 64; ++tries) {
      if constexpr (detail::number<D>)
        discriminant = static_cast<D>(below(9));
      else
        detail::visit(*this, discriminant);
      if (arm_of(discriminant) != no_arm) break;
    }
    if (arm_of(discriminant) == no_arm) discriminant = valid;  // a new value's arm
    set_arm(body, arm_of(discriminant), discriminant);
    return detail::with_alternative(body, [this](auto& v) { return detail::visit_arm(*this, v); });
  }
  template <class T>
  bool number(T& value) {
    if constexpr (std::is_floating_point_v<T>) {
      value = static_cast<T>(static_cast<double>(next() >> 40) / 16);
    } else {
      // Small numbers and the ends of the range are where mistakes are.
      const std::uint64_t bits = next();
      value = static_cast<T>(bits % 4 == 0   ? bits >> 8
                             : bits % 4 == 1 ? ~(bits >> 60)
                                             : (bits >> 8) % 16);
    }
    return true;
  }
  bool boolean(bool& value) {
    value = next() % 2 == 0;
    return true;
  }
  template <class E>
  bool enumeration(E& value) {
    const std::span<const named_value> all = values_of(value);
    value = static_cast<E>(all[below(all.size())].value);
    return true;
  }
  bool characters(std::string& value, std::uint32_t bound) {
    value.resize(length(bound));
    for (char& c : value) c = static_cast<char>(next());
    return true;
  }
  bool counted_bytes(std::string& value, std::uint32_t bound) { return characters(value, bound); }
  bool pieces(chain& value, std::uint32_t bound) {
    std::string all;
    characters(all, bound);
    const std::size_t cut = below(all.size() + 1);
    value.clear();
    value.append_copy(byte_view(all).text().substr(0, cut));
    value.append(piece::copy_of(byte_view(all).text().substr(cut)));
    return true;
  }
  bool fixed_bytes(std::byte* to, std::size_t size) {
    for (std::size_t i = 0; i != size; ++i) to[i] = static_cast<std::byte>(next());
    return true;
  }
  template <class T>
  bool sequence(std::vector<T>& value, std::uint32_t bound) {
    value.clear();
    ++depth_;
    for (std::uint32_t count = length(bound); count != 0 && more(); --count)
      detail::visit(*this, value.emplace_back());
    --depth_;
    return true;
  }
  template <class T>
  bool maybe(std::optional<T>& value) {
    value.reset();
    if (next() % 2 == 0 || !more()) return true;
    ++depth_;
    detail::visit(*this, value.emplace());
    --depth_;
    return true;
  }
  template <class T>
  bool linked(link<T>& value) {
    if (&value == skipped_) return true;
    value.reset();
    const void* const outer = skipped_;
    ++depth_;
    link<T>* at = &value;
    for (std::uint32_t count = length(no_bound); count != 0 && more(); --count) {
      T& made = at->emplace();
      if constexpr (has_tail<T>) {
        at = &tail_of(made);
        skipped_ = at;
      }
      detail::visit(*this, made);
      if constexpr (!has_tail<T>) break;
    }
    --depth_;
    skipped_ = outer;
    return true;
  }

 private:
  std::uint64_t next() noexcept {  // SplitMix64
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  std::uint32_t length(std::uint32_t bound) noexcept {
    const std::uint64_t most = std::min(limits_.length_max, bound);
    return static_cast<std::uint32_t>(
        next() % 8 == 0 ? most : below(std::min<std::uint64_t>(most, 8) + 1));
  }
  bool more() noexcept { return depth_ < limits_.nesting_max && ++made_ < limits_.values_max; }

  std::uint64_t state_;
  generator_limits limits_;
  std::uint32_t depth_ = 0;
  std::uint32_t made_ = 0;
  const void* skipped_ = nullptr;
};

/// A random value.
template <class T>
[[nodiscard]] T generate(std::uint64_t seed, generator_limits limits = {}) {
  generator g(seed, limits);
  return g.make<T>();
}

}  // namespace heddle::xdr
