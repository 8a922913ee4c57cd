// SPDX-License-Identifier: MIT
// Random trees of waits, drawn from a seed: what timed_model_test.cc runs and timed_model.hh
// predicts. A leaf waits for time or for an event; an inner node combines its children as all(),
// any(), select(), a scope, a limit and so on. Each seed leaves out a random half of the kinds.
// Times have the grain of a nanosecond over 1,000 s, so that two of them are practically never
// equal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::test::timed {

/// A point in the program's time, or a span, in nanoseconds. 0 is the program's start.
using instant = std::int64_t;
inline constexpr instant forever = std::int64_t{1} << 60;

enum class ends : std::uint8_t { nothing, value, canceled, timed_out, broken_pipe, own };

/// How a node ends: a value, an error code of the library, or an exception of the test's own.
struct outcome {
  ends how = ends::nothing;
  std::uint64_t value = 0;  ///< for own: the number of the node that threw
  friend bool operator==(const outcome&, const outcome&) = default;
};

enum class kind : std::uint8_t {
  // Leaves.
  sleep_span,  ///< sleep_for(a)
  sleep_time,  ///< sleep_until(a)
  alarm,       ///< timer(a) fires an event of a rendezvous in the node's frame
  two_alarms,  ///< two timers fire events of one rendezvous, which is awaited twice
  block,       ///< twait with two timers
  outside,     ///< waits for event `index` of the program, which an actor fires
  value,       ///< gives a value at once
  give_way,    ///< yield()
  failure,     ///< throws
  // Inner nodes.
  sequence,   ///< the children, one after the other
  all_of,     ///< all(): variant 0 and 1 with arguments, 2 with a vector
  any_of,     ///< any(): likewise; 3 with a sleep in place of the first child
  choose,     ///< select(): the second half of the children are handlers
  choose_ok,  ///< select_ok(): variant 2 with a vector
  nursery,    ///< with_scope(): `steps` is the body; variant 1 gives a value
  sheltered,  ///< shield(child, a)
  limit,      ///< with_timeout(child, a)
  due,        ///< with_deadline(child, a)
  stoppable,  ///< with_cancel(source `index`, child)
  expected,   ///< as_expected(child)
  caught,     ///< try { child 0 } catch: child 1; then by variant: value, rethrow, throw
  started,    ///< start(child, event): variant 1 with an event of a result
  hedge,      ///< hedged(children, a)
  kinds_end,
};
inline constexpr int kinds = static_cast<int>(kind::kinds_end);

enum class scope_step : std::uint8_t { spawn, await, cancel, join };

/// What happened to a node, or what the model says of it.
struct record {
  bool entered = false;
  instant start = 0;
  instant end = 0;
  outcome got;
  friend bool operator==(const record&, const record&) = default;
};

struct node {
  kind k = kind::sleep_span;
  int number = 0;  ///< in the order of drawing
  int variant = 0;
  bool leaves_event = false;  ///< by the model: it ends while an event of its own is expected
  bool direct = false;        ///< the parent awaits the leaf itself, without a function around it
  instant a = 0;
  instant b = 0;
  int index = 0;
  std::vector<node> children;
  std::vector<scope_step> steps;  ///< of a nursery; spawn and await take the next child

  record real;
  int entries = 0;
  int exits = 0;  ///< how often the node's variables were destroyed
  record model;
};

enum class act : std::uint8_t { trigger, unblock, drop, trigger_twice, cancel_source };
struct action {
  instant at = 0;
  act what = act::trigger;
  int index = 0;
};

struct program {
  node root;
  int nodes = 0;
  int events = 0;
  int sources = 0;
  std::vector<action> actions;  ///< by time
};

[[nodiscard]] inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
  return (a ^ (b + 0x9e3779b97f4a7c15)) * 0x2545f4914f6cdd1d;
}
/// The value that a leaf gives.
[[nodiscard]] inline std::uint64_t value_of(const node& n) noexcept {
  return mix(0x6c656166, static_cast<std::uint64_t>(n.number));
}
/// The value that as_expected() and the like give in place of an error.
[[nodiscard]] inline std::uint64_t value_of(ends error) noexcept {
  return mix(0x6572726f72, static_cast<std::uint64_t>(error));
}

/// Random numbers from a seed (SplitMix64, Steele and others, 2014).
class numbers {
 public:
  explicit numbers(std::uint64_t seed) noexcept : state_(seed * 0x9e3779b97f4a7c15 + 1) {}
  std::uint64_t next() noexcept {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// A number from 0 to n - 1.
  std::uint64_t below(std::uint64_t n) noexcept { return next() % n; }
  int between(int least, int most) noexcept {
    return least + static_cast<int>(below(static_cast<std::uint64_t>(most - least + 1)));
  }
  bool chance(int percent) noexcept { return below(100) < static_cast<std::uint64_t>(percent); }

 private:
  std::uint64_t state_;
};

class drawing {
 public:
  explicit drawing(std::uint64_t seed) : numbers_(seed) {
    for (int i = 0; i < kinds; ++i) allowed_[i] = numbers_.chance(50);
    allowed_[static_cast<int>(kind::sleep_span)] = true;
    program_.sources = 1 + numbers_.between(0, 2);
    left_ = numbers_.between(3, 30);
  }
  [[nodiscard]] program draw() {
    program_.root = draw_node(0);
    program_.nodes = number_;
    for (int i = 0; i < program_.events; ++i) {
      const std::uint64_t what = numbers_.below(10);
      program_.actions.push_back({time(),
                                  what < 6    ? act::trigger
                                  : what == 6 ? act::unblock
                                  : what == 7 ? act::trigger_twice
                                              : act::drop,
                                  i});
    }
    // Source 0 is around the whole program.
    for (int i = numbers_.chance(30) ? 0 : 1; i < program_.sources; ++i)
      program_.actions.push_back({time(), act::cancel_source, i});
    std::sort(program_.actions.begin(), program_.actions.end(),
              [](const action& x, const action& y) { return x.at < y.at; });
    return std::move(program_);
  }

 private:
  static constexpr instant second = 1'000'000'000;
  instant time() { return 1 + static_cast<instant>(numbers_.below(1000 * second)); }

  kind draw_kind(int depth) {
    constexpr int first_inner = static_cast<int>(kind::sequence);
    const bool inner = depth < 5 && left_ > 0 && (depth == 0 || numbers_.chance(60));
    for (;;) {
      const int k =
          inner ? numbers_.between(first_inner, kinds - 1) : numbers_.between(0, first_inner - 1);
      // Leaves that end at once are rare: their order within the instant is the library's affair.
      const bool at_once = k >= static_cast<int>(kind::value) && k < first_inner;
      if (allowed_[k] && (!at_once || numbers_.chance(15))) return static_cast<kind>(k);
      // A program without inner nodes is one leaf: it takes any inner node where none is allowed.
      if (inner && ++refused_ > 1000) return kind::sequence;
    }
  }
  void add(node& n, int depth, int count) {
    const bool races = n.k == kind::hedge || n.k == kind::any_of || n.k == kind::choose_ok;
    for (int i = 0; i < count; ++i) {
      node child = draw_node(depth + 1);
      // Losers that end late are where a race can lose its result.
      const bool shields = allowed_[static_cast<int>(kind::sheltered)];
      if (races && shields && numbers_.chance(30)) child = sheltered(std::move(child));
      n.children.push_back(std::move(child));
    }
  }
  node sheltered(node child) {
    node n;
    n.k = kind::sheltered;
    n.number = number_++;
    n.a = time();
    n.children.push_back(std::move(child));
    return n;
  }
  node draw_node(int depth) {
    node n;
    n.k = draw_kind(depth);
    n.number = number_++;
    --left_;
    n.a = time();
    n.b = time();
    n.variant = numbers_.between(0, 2);
    switch (n.k) {
      case kind::outside:
        n.index = program_.events++;
        break;
      case kind::sequence:
        add(n, depth, numbers_.between(1, 4));
        break;
      case kind::all_of:
      case kind::any_of:
        if (n.k == kind::any_of) n.variant = numbers_.between(0, 3);
        add(n, depth, n.variant == 2 ? numbers_.between(1, 4) : n.variant == 1 ? 3 : 2);
        if (n.variant == 3) make_direct(n.children[0]);
        break;
      case kind::choose:
        n.variant = numbers_.between(0, 1);
        add(n, depth, n.variant == 0 ? 4 : 6);
        break;
      case kind::choose_ok:
        add(n, depth, n.variant == 2 ? numbers_.between(1, 4) : n.variant == 1 ? 3 : 2);
        break;
      case kind::nursery:
        n.variant = numbers_.between(0, 1);
        for (int i = numbers_.between(1, 5); i > 0; --i) {
          const std::uint64_t step = numbers_.below(10);
          n.steps.push_back(step < 5    ? scope_step::spawn
                            : step < 8  ? scope_step::await
                            : step == 8 ? scope_step::cancel
                                        : scope_step::join);
          if (step < 8) add(n, depth, 1);
        }
        break;
      case kind::sheltered:
      case kind::limit:
      case kind::due:
      case kind::expected:
      case kind::stoppable:
        n.index = numbers_.between(0, program_.sources - 1);
        if (n.k == kind::limit && numbers_.chance(3)) n.a = 0;
        add(n, depth, 1);
        if (numbers_.chance(30)) make_direct(n.children[0]);
        break;
      case kind::caught:
        add(n, depth, 2);
        break;
      case kind::started:
        n.variant = numbers_.between(0, 1);
        add(n, depth, 1);
        break;
      case kind::hedge:
        add(n, depth, numbers_.between(1, 4));
        if (numbers_.chance(50)) n.a /= 8;
        break;
      default:
        break;
    }
    return n;
  }
  /// Makes a child a leaf that its parent awaits itself.
  void make_direct(node& child) {
    if (child.k == kind::outside && child.children.empty()) {
      child.direct = true;
      return;
    }
    if (!child.children.empty()) return;
    child.k = kind::sleep_span;
    child.direct = true;
  }

  numbers numbers_;
  program program_;
  bool allowed_[kinds] = {};
  int left_ = 0;
  int number_ = 0;
  int refused_ = 0;
};

[[nodiscard]] inline const char* name_of(kind k) {
  static constexpr const char* names[] = {
      "sleep_for",   "sleep_until", "alarm", "two_alarms", "twait",        "event",
      "value",       "yield",       "throw", "sequence",   "all",          "any",
      "select",      "select_ok",   "scope", "shield",     "with_timeout", "with_deadline",
      "with_cancel", "as_expected", "catch", "start",      "hedged"};
  static_assert(std::size(names) == kinds);
  return names[static_cast<int>(k)];
}
[[nodiscard]] inline std::string text_of(const record& r) {
  static constexpr const char* hows[] = {"nothing",   "a value",     "canceled",
                                         "timed out", "broken pipe", "own exception"};
  if (!r.entered) return "not begun";
  return std::to_string(r.start) + " to " + std::to_string(r.end) + ", " +
         hows[static_cast<int>(r.got.how)] + " " + std::to_string(r.got.value % 10000);
}
/// A line for each node: what it is, what the model says, and what happened if that differs.
inline void describe(const node& n, int depth, std::string& to) {
  to.append(static_cast<std::size_t>(2 * depth), ' ');
  to += std::to_string(n.number) + " " + name_of(n.k) + (n.direct ? " direct" : "") + " variant " +
        std::to_string(n.variant) + " a " + std::to_string(n.a) + " b " + std::to_string(n.b) +
        " index " + std::to_string(n.index);
  for (const scope_step s : n.steps)
    to += std::string(" ") + "sajc"[s == scope_step::spawn   ? 0
                                    : s == scope_step::await ? 1
                                    : s == scope_step::join  ? 2
                                                             : 3];
  to += ": " + text_of(n.model);
  if (!n.direct && !(n.real == n.model)) to += "  BUT WAS " + text_of(n.real);
  to += "\n";
  for (const node& c : n.children) describe(c, depth + 1, to);
}
[[nodiscard]] inline std::string text_of(const program& p) {
  static constexpr const char* names[] = {"trigger", "unblock", "drop", "trigger twice", "cancel"};
  std::string text;
  for (const action& a : p.actions)
    text += std::to_string(a.at) + " " + names[static_cast<int>(a.what)] + " " +
            std::to_string(a.index) + "\n";
  describe(p.root, 0, text);
  return text;
}

}  // namespace heddle::test::timed
