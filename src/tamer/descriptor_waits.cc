// SPDX-License-Identifier: MIT
// How a descriptor closes while waits for it are in the drivers of several workers.
#include "tamer/descriptor_waits.hh"

#include <unistd.h>

#include "heddle/sched/runtime.hh"

namespace heddle::tame {

void close_descriptor(int number, descriptor_waits& waits) noexcept {
  worker* const w = worker::current();
  if (w == nullptr || w->io == nullptr) {
    ::close(number);
    return;
  }
  std::size_t count = 0;
  bool elsewhere = false;
  list_node here;  // the place of this function in the ring
  while (descriptor_wait* const x = waits.pop_front()) {
    elsewhere |= x->op.is_pending() && x->op.home != w->index;
    x->insert_before(here);
    ++count;
  }
  if (!elsewhere) {  // this worker's driver ends what it holds
    while (here.linked()) here.next()->unlink();
    return w->io->close(number, *w);
  }
  for (list_hook* x = here.next(); x != &here; x = x->next())
    static_cast<descriptor_wait&>(*x).closing = number;
  for (; count != 0 && here.linked(); --count) {
    auto& x = static_cast<descriptor_wait&>(*here.next());
    x.move_before(here);
    static_cast<runtime&>(w->sched).cancel(x.op, *w);
  }
  if (!here.linked()) return w->io->close(number, *w);
  here.unlink();
}

int leave_descriptor(descriptor_wait& w) noexcept {
  if (w.linked()) {
    w.unlink();
    return -1;
  }
  return w.closing;
}

}  // namespace heddle::tame
