// SPDX-License-Identifier: MIT
// Merged handlers. Each handler of a plan gets a function named by its number in the plan; raises
// call this function directly, and link-time optimization inlines it.
//
// Two translation units may give one number to different handlers, because a compiler prints two
// handlers alike and each unit met them in another order. The linker would keep only one of the two
// functions. So every unit registers (number, handler) for each function that it defines, before
// the program's own constructors run. A number with two handlers is never used.
#pragma once

#include "heddle/bus/detail/dispatch.hh"
#include "heddle/bus/detail/handler.hh"

namespace heddle::detail {

/// One entry of the register; it does not change after the program has started.
struct hot_node {
  const void* plan;
  int number;
  any_function handler;
  hot_node* next;
  const char* mark;  ///< `heddle optimize --check` looks for it in the executable
};
[[gnu::visibility("hidden")]] inline constinit hot_node* hot_nodes = nullptr;

/// The text "heddle-hot-handler:" with the hash and the occurrence.
template <std::uint64_t Hash, int Occurrence>
inline constexpr auto hot_mark = [] {
  fixed_text<64> out;
  out.add("heddle-hot-handler:");
  for (int shift = 60; shift >= 0; shift -= 4)
    out.text[out.len++] = "0123456789abcdef"[(Hash >> shift) & 15];
  out.add(":");
  char digits[12] = {};
  int count = 0;
  for (int n = Occurrence; n > 0 || count == 0; n /= 10)
    digits[count++] = static_cast<char>('0' + n % 10);
  while (count > 0) out.text[out.len++] = digits[--count];
  out.add(";");
  return out;
}();

template <class Tag, class Who>
struct hot_definition;
template <class Data, int Number, class R, class... Args, class Who>
struct hot_definition<hot_tag<Data, Number, R, Args...>, Who> {
  using tag = hot_tag<Data, Number, R, Args...>;
  static_assert(sizeof(tag) > 0);  // declared before it is defined

  // `inline` is explicit, although a function defined in a class is inline anyway: only an explicit
  // `inline` gets the larger limit that heddle_optimize sets (-inlinehint-threshold).
  friend inline __attribute__((used)) R heddle_hot(tag, void* self, pass_t<Args>... args) {
    if constexpr (requires { &Who::inlined; })
      return Who::inlined(self, static_cast<pass_t<Args>>(args)...);
    else
      return Who::call(self, static_cast<pass_t<Args>>(args)...);
  }
  /// Never called; makes the compiler emit the function above.
  static R use(void* self, pass_t<Args>... args) {
    return heddle_hot(tag(), self, static_cast<pass_t<Args>>(args)...);
  }

  static inline constinit hot_node node{
      &variants_in<Data>, Number, nullptr, nullptr,
      hot_mark<handler_name<Who>::hash, occurrence<handler_name<Who>::hash, Who>()>.text};

  // 101: runs before the constructors of the program's own objects, which may raise. It is called
  // once for each unit that binds the handler, because the linker keeps one `enter` but each unit's
  // call of it. The check prevents a second entry, which would make the list circular.
  [[gnu::constructor(101), gnu::used]] static void enter() {
    if (node.handler != nullptr) return;
    node.handler = reinterpret_cast<any_function>(&Who::call);
    node.next = hot_nodes;
    hot_nodes = &node;
  }

  /// Whether this number means the same handler in all units.
  [[nodiscard]] static bool sound() noexcept {
    static_cast<void>(&enter);
    static_cast<void>(&use);
    bool found = false;
    for (const hot_node* n = hot_nodes; n != nullptr; n = n->next) {
      if (n->plan != node.plan || n->number != Number) continue;
      if (n->handler != reinterpret_cast<any_function>(&Who::call)) return false;
      found = true;
    }
    return found;
  }
};

template <class Plan, class Signature, class Who>
struct hot_number {
  [[nodiscard]] static planned_number get() noexcept { return {}; }
};
template <class Data, class R, class... Args, class Who>
struct hot_number<planned<Data>, topic_signature<R, Args...>, Who> {
  [[nodiscard]] static planned_number get() noexcept {
    constexpr std::uint64_t hash = handler_name<Who>::hash;
    constexpr int number = planned<Data>::number_of(hash, occurrence<hash, Who>());
    if constexpr (number < 0) {
      return {};
    } else {
      using definition = hot_definition<hot_tag<Data, number, R, Args...>, Who>;
      if (!definition::sound()) return {};
      return {&variants_in<Data>, number};
    }
  }
};

}  // namespace heddle::detail
