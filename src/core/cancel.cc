// SPDX-License-Identifier: MIT
// Cancelling everything below a context: first the waits in it, each by the function of its kind,
// then the contexts below it. A function that has entered another color is cancelled by a message.
#include "heddle/core/context.hh"
#include "heddle/core/enter.hh"

namespace heddle {

void context::cancel(worker& w) noexcept {
  if (canceled()) return;
  flags_ |= canceled_flag;
  // A wait that ends at once unlinks itself and queues its frame. It may end others too: a waiter
  // that leaves the line of a lock lets in the waiters behind it.
  list<wait> to_ask;
  to_ask.take_all(waits_);
  while (!to_ask.empty()) {
    wait& x = to_ask.front();
    waits_.move_back(x);
    x.kind->cancel(x, w);
  }
  list<context> below;
  below.take_all(children_);
  while (!below.empty()) {
    context& child = below.front();
    children_.move_back(child);
    if (child.visiting != nullptr) {
      child.visiting->ask_to_cancel(w);  // the flags belong to another color
    } else if ((child.flags_ & shielded_flag) == 0) {
      child.cancel(w);
    }
  }
}

}  // namespace heddle
