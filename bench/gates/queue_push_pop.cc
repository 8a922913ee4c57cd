// SPDX-License-Identifier: MIT
//
// The floor of all gates: one push and one pop on an intrusive queue, which is what a yield
// comes down to. It uses the standard library alone, so a change here means that the compiler
// or the way of counting changed, and the other gates' numbers must be taken anew.
#include <cstdlib>

namespace {

struct link {
  link* next = nullptr;
};

struct queue {
  link* first = nullptr;
  link** last = &first;
};

// Not inlined, so that no compiler sees that nothing is achieved.
[[gnu::noinline]] void push(queue& q, link& l) {
  l.next = nullptr;
  *q.last = &l;
  q.last = &l.next;
}

[[gnu::noinline]] link* pop(queue& q) {
  link* const l = q.first;
  q.first = l->next;
  if (q.first == nullptr) q.last = &q.first;
  return l;
}

}  // namespace

int main(int argc, char** argv) {
  const long count = argc > 1 ? std::atol(argv[1]) : 1000;
  queue q;
  link links[2];
  push(q, links[0]);
  push(q, links[1]);
  for (long i = 0; i < count; ++i) push(q, *pop(q));
  return pop(q) == pop(q) ? 1 : 0;
}
