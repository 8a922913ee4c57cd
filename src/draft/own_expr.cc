// SPDX-License-Identifier: MIT
// Adds the effects of expressions on variables to the graph of a function.
#include <algorithm>
#include <utility>

#include "draft/own_graph.hh"
#include "draft/walk.hh"

namespace heddle::draft {
namespace {

bool has_effects(const expr& e) {
  bool any = false;
  walk(
      e,
      [&](const expr& x) {
        const name_expr* const n = x.get<name_expr>();
        any |= x.is<call_expr>() || x.is<spawn_expr>() || x.is<action_expr>() ||
               (n != nullptr && n->moves);
      },
      [](const stmt&) {});
  return any;
}

}  // namespace

void ownership_graph::add_subscripts(const expr& e) {
  const member_expr* const m = e.get<member_expr>();
  const index_expr* const i = e.get<index_expr>();
  if (i != nullptr) add_expr(*i->at);
  if (i != nullptr || m != nullptr) add_subscripts(i != nullptr ? *i->of : *m->of);
}

void ownership_graph::use_place(const expr& e, happening how) {
  variable* const v = place_root(e);
  if (v == nullptr) return add_expr(e);
  add_subscripts(e);
  add(how, v, e.at);
}

void ownership_graph::add_expr(const expr& e) {
  by_kind(
      e,
      [&](const name_expr& x) {
        if (x.var == nullptr) return;
        if (x.moves && in_defer_) {
          report_.error("D0101", e.at, quoted(x.name) + " cannot be moved in 'defer'").hint =
              "it is released at the end of its block anyway";
          return;
        }
        add(x.moves ? happening::move : happening::use, x.var, e.at);
      },
      [&](const member_expr& x) {
        if (e.means == meaning::field || e.means == meaning::operation)
          use_place(*x.of, happening::use);
      },
      [&](const index_expr& x) {
        use_place(*x.of, happening::use);
        add_expr(*x.at);
      },
      [&](const one_of<unary_expr, move_expr> auto& x) { add_expr(*x.of); },
      [&](const try_expr& x) {
        add_expr(*x.of);
        if (action_.end != nowhere) leave_action(e.at, true);
      },
      [&](const binary_expr& x) {
        if (x.op != word::s_andand && x.op != word::s_oror)
          return add_before(*x.left, has_effects(*x.right), [&] { add_expr(*x.right); });
        add_expr(*x.left);
        add_detour([&] { add_expr(*x.right); });
      },
      [&](const range_expr& x) {
        if (x.from) add_expr(*x.from);
        if (x.to) add_expr(*x.to);
      },
      [&](const list_expr& x) {
        for (const argument& a : x.elements) add_expr(*a.value);
      },
      [&](const spawn_expr& x) { add_spawn(x); }, [&](const call_expr& x) { add_call(x); },
      [&](const or_expr& x) {
        add_expr(*x.of);
        add_detour([&] {
          const std::size_t mark = live_.size();
          enter_name(x.error_var, true);
          if (x.jump) add_stmt(*x.jump);
          if (x.handler) add_block(*x.handler);
          if (x.otherwise) add_expr(*x.otherwise);
          leave_names(mark);
        });
      },
      [](const one_of<bad_expr, integer_expr, duration_expr, boolean_expr, text_expr, none_expr,
                      action_expr> auto&) {});
}

void ownership_graph::add_call(const call_expr& x) {
  check_actions(x);
  add_args(x.args, 0);
  if (const expr* const on = x.receiver()) {
    if (x.op->consumes) {
      // `defer c.close()` does nothing where c is gone by then.
      const bool later = std::exchange(in_defer_, false);
      add(later ? happening::use : happening::move, place_root(*on), on->at);
      in_defer_ = later;
    } else {
      use_place(*on, x.op->changes ? happening::change
                     : x.op->waits ? happening::wait_on
                                   : happening::use);
    }
  }
  change_args(x);
}

void ownership_graph::add_args(const std::vector<argument>& args, std::size_t first) {
  while (first != args.size() && !args[first].value) ++first;
  if (first == args.size()) return add_actions(args);
  bool effects = false;
  for (std::size_t i = first + 1; i != args.size(); ++i)
    effects = effects || (args[i].value && has_effects(*args[i].value));
  for (std::size_t i = 0; i != first; ++i)
    effects = effects || (args[i].value && args[i].value->is<action_expr>());
  add_before(*args[first].value, effects, [&] { add_args(args, first + 1); });
}

variable* ownership_graph::add_nameless(const expr& from) {
  std::vector<variable*> roots = roots_of(from);
  if (roots.empty() || at_ == nowhere) return nullptr;
  auto made = std::make_unique<variable>();
  made->name = std::string(from.at.file->text().substr(from.at.begin, from.at.size()));
  made->type = from.final_type();
  made->owner = &function_;
  made->number = static_cast<std::uint32_t>(function_.variables.size());
  variable* const v = made.get();
  function_.variables.push_back(std::move(made));
  function_.looks_into[v] = std::move(roots);
  add(happening::declare, v, {});
  add(happening::assign, v, {});
  return v;
}

void ownership_graph::close_views() {
  for (auto& [view, roots] : function_.looks_into) {
    for (std::size_t i = 0; i < roots.size(); ++i) {
      if (roots[i]->type->owning != owning::borrowed) continue;
      const auto more = function_.looks_into.find(roots[i]);
      if (more == function_.looks_into.end()) continue;
      for (std::size_t n = 0; n < more->second.size(); ++n)
        if (std::find(roots.begin(), roots.end(), more->second[n]) == roots.end())
          roots.push_back(more->second[n]);
    }
  }
  for (auto& [view, roots] : function_.looks_into)
    roots.erase(
        std::remove_if(roots.begin(), roots.end(),
                       [](const variable* v) { return v->type->owning == owning::borrowed; }),
        roots.end());
}

void ownership_graph::change_args(const call_expr& x) {
  std::vector<passing> how(x.args.size(), passing::borrow);
  if (x.callee != nullptr) {
    for (std::size_t i = 0; i != how.size(); ++i) how[i] = x.callee->decl->params[i].how;
  } else if (x.op != nullptr && x.op->params != "...") {
    const auto params = params_of(*x.op);
    for (std::size_t i = 0; i != how.size() && i != params.size(); ++i) how[i] = params[i].how;
  }
  for (std::size_t i = 0; i != how.size(); ++i) {
    if (how[i] != passing::change || !x.args[i].value) continue;
    variable* const v = place_root(*x.args[i].value);
    if (v == nullptr) continue;
    for (std::size_t j = 0; j != how.size(); ++j) {
      if (j == i || !x.args[j].value) continue;
      const auto roots = roots_of(*x.args[j].value);
      // A handle that is lent is not counted: the change would release it under its user.
      const type& held = *x.args[j].value->type;
      const bool counted = held.owning == owning::counted && how[j] == passing::borrow;
      const bool same = place_root(*x.args[j].value) == v && (held.by_address() || counted);
      if (!same && !(how[j] == passing::change && place_root(*x.args[j].value) == v) &&
          std::find(roots.begin(), roots.end(), v) == roots.end())
        continue;
      if (how[j] == passing::change && j < i) continue;  // reported already
      auto& d = report_.error("D0301", x.args[i].at,
                              quoted(v->name) + " would be changed while it is looked at");
      d.notes.push_back({x.args[j].at, "by this argument"});
      d.hint = "pass a copy";
    }
    if (const expr* const on = x.receiver(); on != nullptr && place_root(*on) == v) {
      report_.error("D0301", x.args[i].at, quoted(v->name) + " is passed to itself");
    }
    add(happening::change, v, x.args[i].at);
  }
}

void ownership_graph::add_spawn(const spawn_expr& x) {
  const call_expr& call = x.call->as<call_expr>();
  const function& f = *call.callee;
  // The color is read before the parameters move into the thread.
  if (x.color) add_expr(*x.color);
  for (const argument& a : call.args) add_expr(*a.value);
  for (std::size_t i = 0; i != call.args.size(); ++i) {
    const variable& p = *f.params[i];
    const expr& value = *call.args[i].value;
    if (f.is_thread() || p.how == passing::take) continue;
    for (variable* root : roots_of(value)) lend(root, happening::lend, value.at);
    variable* const v = place_root(value);
    if (v == nullptr) continue;
    if (p.how == passing::change) {
      lend(v, happening::lend_var, value.at);
    } else if (v->type->is_owned() && value.type->is_owned()) {
      lend(v, happening::lend, value.at);
    }
  }
}

void ownership_graph::lend(variable* v, happening how, span at) {
  if (scopes_.empty()) return;
  const auto inside = live_.begin() + static_cast<std::ptrdiff_t>(scopes_.back());
  if (v->type->owning != owning::borrowed && std::find(inside, live_.end(), v) != live_.end()) {
    auto& d = report_.error("D0201", at, quoted(v->name) + " ends before the job that borrows it");
    d.notes.push_back({v->at, "it is declared here"});
    d.hint = "declare it before the 'scope'";
    return;
  }
  add(how, v, at);
  lent_.push_back(v);
}

std::vector<variable*> ownership_graph::roots_of(const expr& e) const {
  std::vector<variable*> list;
  collect_roots(e, list);
  return list;
}

void ownership_graph::collect_roots(const expr& e, std::vector<variable*>& list) const {
  const bool is_view =
      (e.to != nullptr && e.to->is(kind::view)) || (e.type != nullptr && e.type->is(kind::view));
  if (!is_view) return;
  if (variable* const v = place_root(e); v != nullptr) {
    if (v->type->owning == owning::borrowed) {
      const auto found = function_.looks_into.find(v);
      if (found != function_.looks_into.end())
        list.insert(list.end(), found->second.begin(), found->second.end());
      list.push_back(v);
    } else {
      list.push_back(v);
    }
    return;
  }
  by_kind(
      e, [&](const one_of<index_expr, try_expr> auto& x) { collect_looked(*x.of, list); },
      [&](const or_expr& x) {
        collect_looked(*x.of, list);
        if (x.otherwise) collect_looked(*x.otherwise, list);
      },
      [&](const call_expr& x) {
        if (x.op == nullptr) return;
        if (x.op->looks_into) collect_looked(*x.receiver(), list);
        if (x.op->looks_into_arg >= 0)
          collect_looked(*x.args[static_cast<std::size_t>(x.op->looks_into_arg)].value, list);
      },
      [](const one_of<bad_expr, name_expr, integer_expr, duration_expr, boolean_expr, text_expr,
                      none_expr, list_expr, member_expr, unary_expr, binary_expr, range_expr,
                      move_expr, spawn_expr, action_expr> auto&) {});
}

void ownership_graph::collect_looked(const expr& e, std::vector<variable*>& list) const {
  variable* const v = place_root(e);
  if (v != nullptr && v->type->owning != owning::borrowed) {
    list.push_back(v);
  } else {
    collect_roots(e, list);
  }
}

void ownership_graph::note_view(variable* v, const expr& from) {
  if (v == nullptr || v->type->owning != owning::borrowed) return;
  auto& into = function_.looks_into[v];
  for (variable* root : roots_of(from))
    if (root != v && std::find(into.begin(), into.end(), root) == into.end()) into.push_back(root);
}

}  // namespace heddle::draft
