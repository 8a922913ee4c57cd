// SPDX-License-Identifier: MIT
// tvar<T>: a variable that transactions read and write (sync/atomically.hh). Any thread with a
// runtime may use it. Its value changes only when a transaction commits.
//
// The word `lock` of a variable is its version, an even number, or, odd, the transaction that is
// committing to it. Only the holder changes the value, the version and the list of waiters; readers
// read the word before and after, and try again if it has changed. Small plain values lie in the
// variable itself; others in a box that is replaced, never changed, and counted.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "heddle/base/error.hh"

namespace heddle {

class transaction;

namespace detail {

struct stm_watch;
struct stm_access;

/// A value that is too large or not plain enough for cells.
struct stm_box {
  explicit stm_box(void (*d)(stm_box*) noexcept) noexcept : destroy(d) {}
  void add_ref() noexcept { refs.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    // acq_rel: the last owner destroys after all uses of the others
    if (refs.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(this);
  }

  std::atomic<std::uint32_t> refs{1};
  void (*destroy)(stm_box*) noexcept;
};

template <class T>
struct stm_box_of : stm_box {
  template <class U>
  explicit stm_box_of(U&& v) : stm_box(&destroy_this), value(std::forward<U>(v)) {}
  static void destroy_this(stm_box* b) noexcept { delete static_cast<stm_box_of*>(b); }
  const T value;
};

using stm_cell = std::atomic<std::uint64_t>;

/// Cells beyond these would make a read slower than a box.
inline constexpr std::size_t stm_cells_max = 4;
using stm_words = std::array<std::uint64_t, stm_cells_max>;

template <class T>
inline constexpr bool stm_boxed = !std::is_trivially_copyable_v<T> ||
                                  sizeof(T) > stm_cells_max * sizeof(std::uint64_t);
template <class T>
inline constexpr std::size_t stm_cell_count = stm_boxed<T> ? 1 : (sizeof(T) + 7) / 8;

/// Converts between a value and the words that are stored. A box is one word, its address.
template <class T>
[[nodiscard]] T from_words(const stm_words& words) noexcept {
  alignas(T) std::byte room[sizeof(T)];
  std::memcpy(room, words.data(), sizeof(T));
  return *std::launder(reinterpret_cast<T*>(room));
}
template <class T, class U>
[[nodiscard]] stm_words to_words(U&& value) {
  stm_words words{};
  if constexpr (stm_boxed<T>) {
    stm_box* const box = new stm_box_of<T>(std::forward<U>(value));
    words[0] = reinterpret_cast<std::uintptr_t>(box);
  } else {
    const T plain(std::forward<U>(value));
    std::memcpy(words.data(), &plain, sizeof(T));
  }
  return words;
}
/// As from_words() and to_words(), for a value in one plain cell.
template <class T>
inline constexpr bool stm_one_word = !stm_boxed<T> && sizeof(T) <= sizeof(std::uint64_t);
template <class T>
[[nodiscard]] T from_word(std::uint64_t word) noexcept {
  alignas(T) std::byte room[sizeof(T)];
  std::memcpy(room, &word, sizeof(T));
  return *std::launder(reinterpret_cast<T*>(room));
}
template <class T, class U>
[[nodiscard]] std::uint64_t to_word(U&& value) {
  const T plain(std::forward<U>(value));
  std::uint64_t word = 0;
  std::memcpy(&word, &plain, sizeof(T));
  return word;
}
[[nodiscard]] inline stm_box* box_in(std::uint64_t word) noexcept {
  return reinterpret_cast<stm_box*>(word);
}

/// Takes one more reference to the box in a cell. The cell's low bit keeps writers off meanwhile.
[[nodiscard]] stm_box* hold_box(stm_cell& cell) noexcept;
/// Puts another box into a cell, and returns the box that was there, with its reference.
[[nodiscard]] std::uint64_t swap_box(stm_cell& cell, std::uint64_t box) noexcept;

class tvar_base {
 public:
  tvar_base(const tvar_base&) = delete;
  tvar_base& operator=(const tvar_base&) = delete;

  /// The number of the commit that wrote the variable last; each commit has its own. 0: none has.
  [[nodiscard]] std::uint64_t version() const noexcept;

 protected:
  tvar_base() noexcept = default;
  ~tvar_base() {
    HEDDLE_ASSERT(watches_ == nullptr,
                  "a tvar was destroyed while a transaction waits for it to "
                  "change: end the transaction first");
  }

 private:
  friend struct stm_access;
  mutable std::atomic<std::uint64_t> lock_{0};
  mutable stm_watch* watches_ = nullptr;  // only the lock's holder touches it
};

}  // namespace detail

/// Thread: any with a runtime, inside of atomically(). Owns: its value.
/// It must outlive the transactions that use it.
///
///   tvar<int> left = 100, right = 0;
///   co_await atomically([](transaction& tx, tvar<int>& from, tvar<int>& to) {
///     tx.write(from, tx.read(from) - 30); tx.write(to, tx.read(to) + 30);
///   }, std::ref(left), std::ref(right));
template <class T>
class tvar : public detail::tvar_base {
  static_assert(std::is_copy_constructible_v<T>, "a tvar's value is copied by its readers");

 public:
  using value_type = T;

  tvar() : tvar(T()) {}
  template <class U>
    requires std::convertible_to<U&&, T>
  tvar(U&& initial) {  // NOLINT: a tvar<int> starts as an int does
    const detail::stm_words words = detail::to_words<T>(std::forward<U>(initial));
    for (std::size_t i = 0; i < cells_.size(); ++i)
      cells_[i].store(words[i], std::memory_order_relaxed);
  }
  ~tvar() {
    if constexpr (detail::stm_boxed<T>)
      detail::box_in(cells_[0].load(std::memory_order_relaxed))->release();
  }

  /// The value as of some moment during the call, outside of transactions: for reports and tests.
  [[nodiscard]] T value() const;

 private:
  friend struct detail::stm_access;
  mutable std::array<detail::stm_cell, detail::stm_cell_count<T>> cells_;
};

}  // namespace heddle
