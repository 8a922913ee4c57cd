// SPDX-License-Identifier: MIT
// Events made of events fire each other inside one trigger, and chains of them may be of any length
// (rule C3), so they must not fire each other by recursion alone. nest(w, f) calls f at once while
// few such calls are nested; a call that is deeper is kept, and made when the outermost one has
// returned from what it did itself. The order is the same as with recursion.
#pragma once

#include <memory>
#include <utility>

#include "heddle/core/worker.hh"

namespace heddle::detail {

/// A call that was nested too deep, and is made later.
struct kept_call {
  using function = void (*)(kept_call&, worker&) noexcept;
  explicit kept_call(function f) noexcept : run(f) {}
  function run;
  kept_call* next = nullptr;
};

/// The nested calls below one outermost call, on the stack of that call.
struct nest_level {
  static constexpr unsigned depth_max = 16;  // some 10 KiB of stack

  unsigned depth = 0;
  kept_call* first = nullptr;
  kept_call** end = &first;

  /// Whether the next call is kept. After a kept call all are kept, so that none overtakes it.
  [[nodiscard]] bool keeps() const noexcept { return depth == depth_max || first != nullptr; }
  void keep(kept_call& c) noexcept {
    *end = &c;
    end = &c.next;
  }
  /// Makes the calls that were kept, each with those that it adds before the next one.
  void run_kept() noexcept;
};

/// Calls f(worker&), which must not throw, now or before the outermost call of nest() returns.
template <class F>
void nest(worker& w, F f) noexcept {
  nest_level* const level = w.nesting;
  if (level == nullptr) {
    nest_level outermost;
    w.nesting = &outermost;
    f(w);
    if (outermost.first != nullptr) [[unlikely]]
      outermost.run_kept();
    worker::running().nesting = nullptr;  // a fiber may go on elsewhere
    return;
  }
  if (level->keeps()) [[unlikely]] {
    struct kept final : kept_call {
      explicit kept(F&& g) noexcept : kept_call(&call), f(std::move(g)) {}
      static void call(kept_call& c, worker& here) noexcept {
        auto& self = static_cast<kept&>(c);
        F f = std::move(self.f);
        std::destroy_at(&self);
        here.memory.release(&self, sizeof(kept));
        f(here);
      }
      F f;
    };
    if (void* const cell = w.memory.try_allocate(sizeof(kept))) {
      level->keep(*new (cell) kept(std::move(f)));
      return;
    }
  }
  ++level->depth;
  f(w);
  --level->depth;
}

/// While this lives, the depth of nested calls is counted from 0: for the programmer's functions,
/// whose triggers must have taken effect when trigger() returns.
class nest_afresh {
 public:
  explicit nest_afresh(worker& w) noexcept : outer_(std::exchange(w.nesting, nullptr)) {}
  nest_afresh(const nest_afresh&) = delete;
  nest_afresh& operator=(const nest_afresh&) = delete;
  ~nest_afresh() { worker::running().nesting = outer_; }

 private:
  nest_level* outer_;
};

}  // namespace heddle::detail
