// SPDX-License-Identifier: MIT
// Objects that services offer, as models for history.hh: a cell, a list that grows, and a lock with
// fencing numbers. A model of your own is a struct like these.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heddle::sim {

/// A value that is read, written, and written if it equals another one. It begins as "", which also
/// means that there is no value.
///
///   seen.answer(asked, {.value = "a"});   // get has given "a"
///   seen.answer(asked, {.done = false});  // put_if has said that the value is another one
struct cell {
  enum class verb : std::uint8_t { get, put, put_if };
  struct input {
    verb what = verb::get;
    std::string value = {};
    std::string expected = {};  ///< for put_if
  };
  struct output {
    std::string value = {};  ///< the answer of get
    bool done = true;        ///< false: put_if found another value (a failed put is refused())
  };
  using state = std::string;

  static input get() { return {}; }
  static input put(std::string value) { return {.what = verb::put, .value = std::move(value)}; }
  static input put_if(std::string expected, std::string value) {
    return {.what = verb::put_if, .value = std::move(value), .expected = std::move(expected)};
  }
  static std::optional<state> step(const state& before, const input& asked, const output* got);
  static std::string text(const input& asked, const output* got);
};

/// A list to whose end items are put. An item that is there twice was put twice.
///
///   seen.answer(asked, {.items = {"a", "b"}});  // get has given these
///   seen.answer(asked, {.length = 2});          // add has said that there are now two
struct growing_list {
  struct input {
    std::string item = {};  ///< to add; "" for get
  };
  struct output {
    std::vector<std::string> items = {};  ///< the answer of get
    std::optional<std::size_t> length =
        std::nullopt;  ///< the list, after add, if the service tells it
  };
  using state = std::vector<std::string>;

  static input get() { return {}; }
  static input add(std::string item) { return {.item = std::move(item)}; }
  static std::optional<state> step(const state& before, const input& asked, const output* got);
  static bool may_follow(const state& now, const input& asked, const output& got);
  static std::string text(const input& asked, const output* got);
};

/// A lock whose holder may be dead or slow, and what it protects: each holder gets a greater number
/// than all before it, and a use with a smaller number than an earlier use is refused (fencing).
/// The lock may be refused at any time.
///
///   seen.answer(asked, {.number = 7});    // acquire has given the lock with this number
///   seen.answer(asked, {.done = false});  // acquire or use was refused
struct fenced_lock {
  struct input {
    std::uint64_t number = 0;  ///< to use; 0 for acquire
  };
  struct output {
    std::uint64_t number = 0;
    bool done = true;
  };
  struct state {
    std::uint64_t given = 0, used = 0;
    auto operator<=>(const state&) const = default;
  };

  static input acquire() { return {}; }
  static input use(std::uint64_t number) { return {.number = number}; }
  static std::optional<state> step(const state& before, const input& asked, const output* got);
  static std::string text(const input& asked, const output* got);
};

}  // namespace heddle::sim
