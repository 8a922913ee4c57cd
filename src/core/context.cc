// SPDX-License-Identifier: MIT
// The tree of contexts: opening, closing, and cancelling everything below one.
#include "heddle/core/context.hh"

#include "heddle/core/enter.hh"
#include "heddle/core/promise.hh"

namespace heddle {

context::context(context* parent) noexcept : parent_(parent) {
  if (parent == nullptr) return;
  color = parent->color;
  trace_id = parent->trace_id;
  locals = parent->locals;
  deadline_ = parent->deadline_;
  flags_ = parent->flags_ & canceled_flag;
  parent->children_.push_back(*this);
}

context& context::open(worker& w, context* parent) {
  return *new (w.memory.allocate_context()) context(parent);
}

void context::close(worker& w, context& c) noexcept {
  HEDDLE_ASSERT(c.children_.empty(), "a context is closed while one below it is open");
  HEDDLE_ASSERT(c.waits_.empty(), "a context is closed while something waits in it");
  c.~context();
  w.memory.release_context(&c);
}

context& context::open_away(worker& w, context& parent, visit& v) {
  char* const cell = static_cast<char*>(w.memory.allocate_context());
  auto* const c = new (cell + away_bit) context(&parent);
  c->visiting = &v;
  return *c;
}

void context::close_away(worker& w, context& c) noexcept {
  HEDDLE_ASSERT(c.children_.empty() && c.waits_.empty(),
                "a function leaves a color while something of its own waits there");
  c.~context();
  w.memory.release_context(reinterpret_cast<char*>(&c) - away_bit);
}

void context::cancel(worker& w) noexcept {
  if (canceled()) return;
  flags_ |= canceled_flag;
  // A wait that ends at once unlinks itself and queues its frame. It may take others along: who
  // leaves the line of a lock lets those behind it in.
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
      child.visiting->ask_to_cancel(w);  // its flags are another color's
    } else if ((child.flags_ & shielded_flag) == 0) {
      child.cancel(w);
    }
  }
}

void detail::note_exception(worker& w, site at) noexcept {
  const std::exception_ptr error = std::current_exception();
  const void* identity = nullptr;
  static_assert(sizeof error == sizeof identity);
  __builtin_memcpy(&identity, static_cast<const void*>(&error), sizeof identity);
  worker::exception_trail& trail = w.trail;
  if (trail.error != identity) {
    trail.error = identity;
    trail.len = 0;
  }
  if (trail.len < worker::exception_trail::limit) trail.lines[trail.len++] = at;
}

}  // namespace heddle
