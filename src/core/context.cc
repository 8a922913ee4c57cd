// SPDX-License-Identifier: MIT
// The tree of contexts: opening and closing. Cancelling goes into other colors: core/cancel.cc.
#include "heddle/core/context.hh"

namespace heddle {

context::context(context* parent) noexcept : parent_(parent) {
  if (parent == nullptr) return;
  color = parent->color;
  trace_id = parent->trace_id;
  locals = parent->locals;
  deadline_ = parent->deadline_;
  flags_ = parent->flags_ & canceled_flag;
  priority_ = parent->priority_;
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

}  // namespace heddle
