// SPDX-License-Identifier: MIT
// Marks for situations that tests must reach: HEDDLE_SOMETIMES("accept failed while draining") says
// that its place in the code is reached sometimes, in one run of many. A search that never gets
// there proves nothing about it. for_seeds (heddle/sim/seeds.hh) says how often each mark was
// reached, and `make hunt` fails for one that no run has reached for a week.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

namespace heddle {

/// A mark as marks() gives it.
struct mark_count {
  std::string_view text;
  std::string_view file;  ///< as the compiler was given it
  unsigned line = 0;
  std::uint64_t reached = 0;  ///< times, since the program began
};

/// The marks of the program, those of other libraries too, sorted by file and line. Thread: any.
[[nodiscard]] std::vector<mark_count> marks();

namespace detail {

/// Enters itself into a list before main() begins. An increment is all that reach() costs.
class mark {
 public:
  constexpr mark(const char* text, const char* file, unsigned line) noexcept
      : text_(text), file_(file), line_(line) {}
  mark(const mark&) = delete;
  mark& operator=(const mark&) = delete;

  bool enter() noexcept;
  void reach() noexcept { reached_.fetch_add(1, std::memory_order_relaxed); }

 private:
  friend std::vector<mark_count> heddle::marks();

  const char* text_;
  const char* file_;
  unsigned line_;
  std::atomic<std::uint64_t> reached_{0};
  mark* next_ = nullptr;
};

template <class Place>
struct mark_of {
  static constinit inline mark it{Place::text(), Place::file(), Place::line()};
  static inline const bool entered = it.enter();
};

}  // namespace detail
}  // namespace heddle

/// Counts that this place was reached. The text names the situation, and is a literal that no other
/// mark has. For functions of a .cc file, in statements; on paths where an increment does not
/// matter.
#define HEDDLE_SOMETIMES(what)                                          \
  do {                                                                  \
    struct place {                                                      \
      static constexpr const char* text() noexcept { return what; }     \
      static constexpr const char* file() noexcept { return __FILE__; } \
      static constexpr unsigned line() noexcept { return __LINE__; }    \
    };                                                                  \
    static_cast<void>(::heddle::detail::mark_of<place>::entered);       \
    ::heddle::detail::mark_of<place>::it.reach();                       \
  } while (false)
