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
  finish(f.decl->at, {},
         end_tail{flow_.has_frame || f.fallible() || flow_.may_fault || f.recursive});
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
  const span at = s.at;
  by_kind(
      s, [](const bad_stmt&) {}, [&](const wait_stmt& x) { lower_wait(x, at); },
      [&](const let_stmt& x) { lower_let(x, at); },
      [&](const expression_stmt& x) { lower_effects(*x.value); },
      [&](const assign_stmt& x) { lower_assign(x, at); },
      [&](const if_stmt& x) { lower_if(x, at); },
      [&](const while_stmt& x) { lower_loop(x.body, &x.when, x.yields, at); },
      [&](const loop_stmt& x) { lower_loop(x.body, nullptr, x.yields, at); },
      [&](const for_stmt& x) { lower_for(x, at); },
      [&](const match_stmt& x) { lower_match(x, at); },
      [&](const any_stmt& x) { lower_any(x, at); },
      [&](const scope_stmt& x) {
        const var_id id = add_slot("scope_" + line_text(at), special("heddle_scope"), at);
        add(at, open_scope{id});
        context_->scopes.push_back(id);
        lower_bounded(x.body, cleanup_op::scope, id, at);
        context_->scopes.pop_back();
      },
      [&](const nowait_stmt& x) { lower_block(x.body); },
      [&](const shield_stmt& x) {
        const var_id id = add_slot("shield_" + line_text(at), special("heddle_within"), at);
        add(at, open_shield{id});
        lower_bounded(x.body, cleanup_op::shield, id, at);
      },
      [&](const within_stmt& x) {
        const var_id id = add_slot("within_" + line_text(at), special("heddle_within"), at);
        const std::uint32_t mark = top_;
        add(at, open_within{id, lower_argument(*x.limit, false)});
        lower_bounded(x.body, cleanup_op::within, id, at);
        if (open()) leave_to(mark, at);
        top_ = mark;
      },
      [&](const defer_stmt& x) {
        cleanup c{};
        c.op = cleanup_op::defer;
        c.deferred = &x;
        c.at = at;
        push(c);
      },
      [&](const return_stmt& x) { lower_return(x, at); },
      [&](const fail_stmt& x) {
        set(value_of(flow_.status),
            make(types_.basic(kind::i64), status_value{lower_argument(*x.error, false)}), at);
        go(unwind_to(top_), at);
      },
      [&](const break_stmt&) { lower_jump(&loop::after, at); },
      [&](const continue_stmt&) { lower_jump(&loop::head, at); });
}

void lowering::lower_bounded(const block& b, cleanup_op op, var_id slot, span at) {
  const std::uint32_t mark = top_;
  cleanup c{};
  c.op = op;
  c.slot = slot;
  c.at = at;
  push(c);
  lower_block(b);
  if (open()) leave_to(mark, at);
  top_ = mark;
}

void lowering::lower_jump(block_id loop::* to, span at) {
  const loop l = context_->loops.back();
  unwind_inline(l.cleanups, true);
  go(l.*to, at);
}

const type* lowering::special(const char* name) {
  for (const auto& [n, t] : special_)
    if (n == name) return t;
  type* const t = types_.make(kind::i64, name);
  special_.emplace_back(name, t);
  return t;
}

void lowering::lower_return(const return_stmt& x, span at) {
  context& c = *context_;
  if (x.value) {
    if (c.result != no_id) {
      const std::uint32_t mark = top_;
      store(value_of(c.result), *x.value);
      if (open() && top_ != mark) leave_to(mark, at);
      top_ = mark;
    } else {
      lower_effects(*x.value);
    }
  }
  if (!open()) return;
  // Errors leave by a chain of cleanups; a return shares it where no result would count as needed
  // on the errors' way, too.
  if (c.result == no_id && c.outer == nullptr) {
    set_status(0, at);
    go(unwind_to(top_), at);
    return;
  }
  unwind_inline(c.base, true);
  if (!open()) return;
  set_status(0, at);
  go(c.end, at);
}

void lowering::begin_any(flow& f) {
  for (const var_id w : won_) {
    const type* const t = f.slots[w].type;
    instr i{{set_instr{make(t, slot_value{w}), make(t, number_value{255})}}, {}};
    f.blocks[0].body.insert(f.blocks[0].body.begin(), std::move(i));
  }
}

std::vector<flow> lower(program& p) {
  std::vector<flow> out;
  // Callees first: whether they may fault decides how they are called.
  std::unordered_set<function*> done;
  const auto make = [&](function& f) {
    if (f.decl->is_extern() || f.form == function_form::merged) return;
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
