// SPDX-License-Identifier: MIT
// Lowers functions and plain statements to blocks; callees come before callers.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "draft/lowering.hh"

namespace heddle::draft {

flow lowering::run() {
  function& f = *flow_.fn;
  flow_.has_frame = f.form == function_form::thread || f.form == function_form::apart;
  flow_.recursive = f.recursive;
  at_ = fresh("entry");
  context c;
  c.fn = &f;
  context_ = &c;
  for (variable* v : f.params) {
    const var_id id = add_slot(v->name, v->type, v->at);
    flow_.slots[id].parameter = true;
    flow_.slots[id].by_reference =
        v->how == passing::change ||
        (v->type->by_address() && v->how != passing::take && !f.copies_values());
    c.names[v] = id;
    flow_.params.push_back(id);
  }
  if (!f.result->is(kind::void_)) {
    flow_.result = add_slot("result", f.result, f.decl->result_at);
    c.result = flow_.result;
  }
  c.end = fresh("end");
  for (variable* v : f.params) {
    const bool owns = f.is_thread() || f.is_main() || v->how == passing::take;
    // An apart frame holds a count of each handle that it was given by value.
    const bool counts = flow_.has_frame && v->type->owning == owning::counted &&
                        !flow_.slots[c.names[v]].by_reference;
    if ((owns && v->type->needs_release()) || counts) push_release(c.names[v]);
  }
  lower_block(f.decl->body);
  if (open()) {
    unwind_inline(no_id);
    if (open()) {
      set_status(0, f.decl->body.at);
      go(c.end);
    }
  }
  at_ = c.end;
  // A C function that can fail in no way gives its value alone.
  finish(f.decl->at, {}, end_tail{flow_.has_frame || f.fallible || flow_.may_fault || f.recursive});
  link_views();
  return std::move(flow_);
}

void lowering::lower_block(const block& b) {
  const std::uint32_t mark = top_;
  for (const stmt_ptr& s : b.body) {
    if (!open()) break;
    lower_stmt(*s);
  }
  if (open()) {
    leave_to(mark, b.at);
  }
  top_ = mark;
}

void lowering::lower_stmt(const stmt& s) {
  switch (s.kind) {
    case stmt_kind::bad:
      return;
    case stmt_kind::wait:
      return lower_wait(s);
    case stmt_kind::let:
      return lower_let(s);
    case stmt_kind::expression:
      return lower_effects(*s.a);
    case stmt_kind::assign:
      return lower_assign(s);
    case stmt_kind::if_:
      return lower_if(s);
    case stmt_kind::while_:
    case stmt_kind::loop:
      return lower_loop(s);
    case stmt_kind::for_:
      return lower_for(s);
    case stmt_kind::match:
      return lower_match(s);
    case stmt_kind::any:
      return lower_any(s);
    case stmt_kind::scope: {
      const var_id id = add_slot("scope_" + line_text(s.at), special("heddle_scope"), s.at);
      add(s.at, open_scope{id});
      cleanup c{};
      c.op = cleanup_op::scope;
      c.slot = id;
      c.at = s.at;
      const std::uint32_t mark = top_;
      push(c);
      context_->scopes.push_back(id);
      lower_block(s.body);
      context_->scopes.pop_back();
      if (open()) leave_to(mark, s.at);
      top_ = mark;
      return;
    }
    case stmt_kind::nowait:
      return lower_block(s.body);
    case stmt_kind::shield:
    case stmt_kind::within: {
      const bool shield = s.kind == stmt_kind::shield;
      const var_id id = add_slot((shield ? "shield_" : "within_") + line_text(s.at),
                                 special("heddle_within"), s.at);
      const std::uint32_t mark = top_;
      if (shield)
        add(s.at, open_shield{id});
      else
        add(s.at, open_within{id, lower_argument(*s.a, false)});
      cleanup c{};
      c.op = shield ? cleanup_op::shield : cleanup_op::within;
      c.slot = id;
      c.at = s.at;
      push(c);
      lower_block(s.body);
      if (open()) leave_to(mark, s.at);
      top_ = mark;
      return;
    }
    case stmt_kind::defer: {
      cleanup c{};
      c.op = cleanup_op::defer;
      c.deferred = &s;
      c.at = s.at;
      push(c);
      return;
    }
    case stmt_kind::return_:
      return lower_return(s);
    case stmt_kind::fail: {
      value code = make(value_op::unary, types_.basic(kind::i64), {});
      code.what = word::k_or;  // the status of an error
      code.kids.push_back(lower_argument(*s.a, false));
      set(slot_value(flow_.status), std::move(code), s.at);
      go(unwind_to(top_), s.at);
      return;
    }
    case stmt_kind::break_:
    case stmt_kind::continue_: {
      const loop l = context_->loops.back();
      unwind_inline(l.cleanups, true);
      go(s.kind == stmt_kind::break_ ? l.after : l.head, s.at);
      return;
    }
  }
}

const type* lowering::special(const char* name) {
  for (const auto& [n, t] : special_)
    if (n == name) return t;
  type* const t = types_.make(kind::i64, name);
  special_.emplace_back(name, t);
  return t;
}

void lowering::lower_return(const stmt& s) {
  context& c = *context_;
  if (s.a) {
    if (c.result != no_id) {
      const std::uint32_t mark = top_;
      store(slot_value(c.result), *s.a);
      if (open() && top_ != mark) leave_to(mark, s.at);
      top_ = mark;
    } else {
      lower_effects(*s.a);
    }
  }
  if (!open()) return;
  // Errors leave by a chain of cleanups; a return shares it where no result would count as needed
  // on the errors' way, too.
  if (c.result == no_id && c.outer == nullptr) {
    set_status(0, s.at);
    go(unwind_to(top_), s.at);
    return;
  }
  unwind_inline(c.base, true);
  if (!open()) return;
  set_status(0, s.at);
  go(c.end, s.at);
}

void lowering::begin_any(flow& f) {
  for (const var_id w : won_) {
    value place = make(value_op::slot, f.slots[w].type, {});
    place.slot = w;
    instr i{{set_instr{std::move(place), constant_value(f.slots[w].type, 255)}}, {}};
    f.blocks[0].body.insert(f.blocks[0].body.begin(), std::move(i));
  }
}

std::vector<flow> lower(program& p) {
  std::vector<flow> out;
  // Callees first: whether they may fault decides how they are called.
  std::unordered_set<function*> done;
  const auto make = [&](function& f) {
    if (f.decl->is_extern || f.form == function_form::merged) return;
    lowering l(p, f);
    flow made = l.run();
    l.begin_any(made);
    f.may_fault = made.may_fault;
    out.push_back(std::move(made));
  };
  struct visit {
    function* f;
    std::size_t call = 0;
  };
  for (const auto& m : p.modules) {
    for (const auto& root : m->functions) {
      if (!done.insert(root.get()).second) continue;
      std::vector<visit> path = {{root.get()}};
      while (!path.empty()) {
        visit& v = path.back();
        if (v.call < v.f->calls.size()) {
          function* const callee = v.f->calls[v.call++].callee;
          if (done.insert(callee).second) path.push_back({callee});
          continue;
        }
        function* const f = v.f;
        path.pop_back();
        make(*f);
      }
    }
  }
  return out;
}

}  // namespace heddle::draft
